"""Ctrl-C and SIGTERM during a fit: finish the step, write a checkpoint, say how to continue."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A fit was stopped by a signal; `checkpoint` is the file to resume from."""

    def __init__(self, message: str, checkpoint: Path | None, signal_number: int, step: int) -> None:
        super().__init__(message)
        self.checkpoint = checkpoint
        self.signal_number = signal_number
        self.step = step


class Interruption:
    """Remembers the first signal; a second one is not held back."""

    def __init__(self) -> None:
        self.signal_number: int | None = None

    def __bool__(self) -> bool:
        return self.signal_number is not None


@contextlib.contextmanager
def watch(*, at_once: bool = False) -> Iterator[Interruption]:
    """Catch SIGINT and SIGTERM while the block runs (main thread only), and restore the old handlers after it.

    The first signal is remembered, for the block to look at; with `at_once` it also raises KeyboardInterrupt there.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    previous = {}

    def handler(number: int, frame: FrameType | None) -> None:
        again = bool(interruption)
        interruption.signal_number = number
        if again or at_once:
            raise KeyboardInterrupt

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, handler)
        yield interruption
    finally:
        for number, old in previous.items():
            signal.signal(number, old)


def interrupted(interruption: Interruption, path: Path | None, step: int, total: int | None) -> Interrupted:
    """The error that tells a user at which step a fit was stopped, and how to continue.

    >>> interruption = Interruption()
    >>> interruption.signal_number = signal.SIGINT
    >>> str(interrupted(interruption, Path("a.safetensors"), 3, 10))
    "stopped by Ctrl-C after step 3 of 10; saved a.safetensors: rerun with resume='a.safetensors' to continue"
    """
    assert interruption.signal_number is not None
    name = "Ctrl-C" if interruption.signal_number == signal.SIGINT else "SIGTERM"
    message = f"stopped by {name} after step {step}" + (f" of {total}" if total else "")
    if path is not None:
        message += f"; saved {path}: rerun with resume={str(path)!r} to continue"
    return Interrupted(message, path, interruption.signal_number, step)
