"""The peak resident memory of this process, for tests that start a fresh one."""

from __future__ import annotations


def peak_mebibytes() -> float:
    """Not `ru_maxrss`, which begins at what the parent process held when it started this one."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
