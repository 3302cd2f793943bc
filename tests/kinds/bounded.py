"""What opening a file may cost: seconds of the processor, and memory above what it decodes to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

SECONDS, MEBIBYTES = 2.0, 512.0


@contextlib.contextmanager
def bounded(decoded: float = 0.0, seconds: float = SECONDS) -> Iterator[None]:
    """Fails if the block takes more than `seconds`, or 512 MiB more than the `decoded` ones at its peak."""
    # Writing 5 makes the kernel forget the peak so far.
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    before, start = _status("VmRSS"), time.process_time()
    try:
        yield
    finally:
        took, grown = time.process_time() - start, _status("VmHWM") - before
    assert took < seconds, f"{took:.1f} s"
    assert grown < MEBIBYTES + decoded, f"{grown:.0f} MiB"


def _status(name: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))
