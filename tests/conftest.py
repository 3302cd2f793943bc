"""Shape annotations are enforced while tests run; GPU tests skip without one."""

from __future__ import annotations

import os

# Tensors in tests are small: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests import shape_checks

shape_checks.install()

import pytest  # noqa: E402
import torch  # noqa: E402


def pytest_itemcollected(item: pytest.Item) -> None:
    shared = _shared_fixture(item)
    if shared is not None:
        # Of several processes one makes it, and runs the tests that look at it.
        item.add_marker(pytest.mark.xdist_group(shared))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="CUDA is not available")
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(skip)


def _shared_fixture(item: pytest.Item) -> str | None:
    """The fixture of ours that a test shares with others."""
    known = getattr(item, "_fixtureinfo", None)
    for definitions in known.name2fixturedefs.values() if known is not None else ():
        found = definitions[-1]
        if found.scope in ("module", "session") and found.baseid.startswith("tests"):
            return f"{found.baseid}::{found.argname}"
    return None


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
