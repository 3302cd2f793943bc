"""Where a result came from: the machine, the versions and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from staf._documents import Document


def cores() -> int:
    """Cores this process may use, which a container or `taskset` can make fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def provenance(device: str) -> Document:
    """Machine, versions, commit and date of a run on `device`; call it in the process that ran."""
    import numpy
    import torch

    from staf import __version__

    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else None
    return {
        "machine": {
            "cpu": cpu_model(),
            "cores": cores(),
            "threads": torch.get_num_threads(),
            "gpu": gpu,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "device": device,
        "versions": {
            "staf": __version__,
            "torch": str(torch.__version__),
            "numpy": numpy.__version__,
            "python": platform.python_version(),
        },
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def cpu_model() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def commit() -> str | None:
    """The commit of this copy of staf, with "+changes" if its files differ from it; None outside a repository."""
    package = Path(__file__).resolve().parent
    # An installed package may lie inside somebody else's repository, whose commit would say nothing about staf.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = _git(package, "rev-parse", "HEAD")
    # Runs are also made by the code outside the package; what they write (results, documents) changes no number.
    code = (".", ":(top)paper", ":(top)benchmarks/*.py")
    changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", *code)
    return head if head is None or not changed else f"{head}+changes"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
