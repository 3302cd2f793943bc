"""Mistakes of the user, told apart from bugs: the first end in one line and exit code 2, the second in a traceback."""

from __future__ import annotations

import contextlib
import difflib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from types import FrameType

MISTAKE = 2
INTERRUPTED = 130

# Library exceptions whose message is meant for the user: module and name. They are looked up among the modules already
# loaded, because one that is not loaded has raised nothing.
_FOR_USERS = (
    ("staf._extras", "MissingExtra"),
    ("staf._files", "WriteError"),
    ("staf.export.errors", "ExportError"),
    ("staf.storage.header", "FileError"),
    ("staf.reports.errors", "RunError"),
    ("staf.signals.errors", "SignalError"),
)


class UserError(Exception):
    """Something the user can put right; the message is one line."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work; the message says what was kept and how to resume."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number


def is_mistake(error: BaseException) -> bool:
    """Whether an exception is a user's mistake rather than a bug."""
    kinds: list[type[BaseException]] = [UserError]
    for module, name in _FOR_USERS:
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    # What the system refuses (a name too long, a full disk, no permission) is no bug either.
    return isinstance(error, tuple(kinds)) or (isinstance(error, OSError) and error.errno is not None)


def sentence(error: BaseException) -> str:
    """What a mistake says, in one line and without the system's error numbers.

    >>> sentence(OSError(36, "File name too long", "x.png"))
    'File name too long: x.png'
    """
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return one_line(f"{error.strerror}{name}")
    return one_line(str(error))


@contextlib.contextmanager
def edge(*kinds: type[Exception]) -> Iterator[None]:
    """Around the calls that check what the user asked for: there, a ValueError, or one of `kinds`, is their mistake."""
    caught: tuple[type[Exception], ...] = (ValueError, *kinds)
    try:
        yield
    except caught as error:
        raise UserError(str(error)) from error


def one_line(text: str) -> str:
    """The text without line breaks.

    >>> one_line("a\\n  b")
    'a b'
    """
    return " ".join(text.split())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name.

    >>> did_you_mean("ft", ["fit", "render"])
    '; did you mean fit?'
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


class SignalWatch:
    """Turns signals that end a process into `Stopped`, so that temporary files are cleared away."""

    def __init__(self) -> None:
        self.number: int | None = None

    def hear(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self.check()

    def check(self) -> None:
        """Raise for a signal that was heard: a library that catches everything may have swallowed the first time."""
        if self.number is not None:
            raise Stopped(f"stopped by {signal.Signals(self.number).name}", self.number)


@contextlib.contextmanager
def signals_raise() -> Iterator[SignalWatch]:
    """SIGTERM and SIGHUP end the work like Ctrl-C, with exit code 143 or 129; one that is ignored stays ignored."""
    watch = SignalWatch()
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    caught = [number for number, old in previous.items() if old not in (signal.SIG_IGN, None)]
    for number in caught:
        signal.signal(number, watch.hear)
    try:
        yield watch
    finally:
        for number in caught:
            signal.signal(number, previous[number])
