"""Ctrl-C, SIGTERM and SIGHUP during a fit: finish the step, write a checkpoint, say how to continue."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

# Windows has no SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupted(KeyboardInterrupt):
    """A fit was stopped by a signal such as Ctrl-C; `checkpoint` is the file to resume from."""

    def __init__(self, message: str, checkpoint: Path | None, signal_number: int, step: int) -> None:
        super().__init__(message)
        self.checkpoint = checkpoint
        self.signal_number = signal_number
        self.step = step


class Interruption:
    """Remembers a signal; the next one raises KeyboardInterrupt, and so does the first while `at_once` is set."""

    def __init__(self) -> None:
        self.signal_number: int | None = None
        self.at_once = False
        self._taken: int | None = None

    def __bool__(self) -> bool:
        return self.signal_number is not None

    @property
    def is_missed(self) -> bool:
        """Whether there is a signal that has not been handled."""
        return self.signal_number is not None and self._taken != self.signal_number

    def take(self) -> int:
        """The signal's number; from now on the signal counts as handled."""
        assert self.signal_number is not None
        self._taken = self.signal_number
        return self._taken

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Be the handler of a signal."""
        again = bool(self)
        self.signal_number = number
        if again or self.at_once:
            raise KeyboardInterrupt


@contextlib.contextmanager
def watch() -> Iterator[Interruption]:
    """Catch SIGINT, SIGTERM and SIGHUP while the block runs (main thread only), and restore the old handlers after it.

    The first signal is remembered, for the block to look at. One that the block ended without taking goes to the old
    handler. A signal that the process ignores stays ignored: that
    is how `nohup` and background jobs of a shell script are protected.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    previous = {number: signal.getsignal(number) for number in SIGNALS}
    # None is a handler that was not installed from Python, which could not be put back.
    caught = [number for number, old in previous.items() if old not in (signal.SIG_IGN, None)]
    try:
        for number in caught:
            signal.signal(number, interruption.hear)
        yield interruption
    finally:
        for number in caught:
            signal.signal(number, previous[number])
    if interruption.is_missed:
        signal.raise_signal(interruption.take())


def name_of(number: int) -> str:
    """How a signal is called in messages.

    >>> name_of(signal.SIGINT), name_of(signal.SIGTERM)
    ('Ctrl-C', 'SIGTERM')
    """
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def interrupted(interruption: Interruption, path: Path | None, step: int, total: int | None) -> Interrupted:
    """The error that tells a user at which step a fit was stopped, and how to continue.

    >>> interruption = Interruption()
    >>> interruption.signal_number = signal.SIGINT
    >>> str(interrupted(interruption, Path("a.safetensors"), 3, 10))
    "stopped by Ctrl-C after step 3 of 10; saved a.safetensors: rerun with resume='a.safetensors' to continue"
    """
    number = interruption.take()
    message = f"stopped by {name_of(number)} after step {step}" + (f" of {total}" if total else "")
    if path is not None:
        message += f"; saved {path}: rerun with resume={str(path)!r} to continue"
    return Interrupted(message, path, number, step)
