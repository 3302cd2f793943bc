"""Shape annotations are enforced while tests run; GPU tests skip without one."""

from __future__ import annotations

import os
import signal

# Runs in the background or under nohup ignore these, and so would the fits that tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)

# Tensors in tests are small: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests import shape_checks  # noqa: E402

shape_checks.install()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="CUDA is not available")
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test, and every fixture that it is the first to need, starts from the same random numbers."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
