"""The exceptions for a signal that cannot be read, used or written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staf._extras import MissingExtra
from staf._messages import one_line

LONGEST_REASON = 600


class SignalError(ValueError):
    """A problem that the user can solve; the message is one sentence, to be shown unchanged.

    >>> str(SignalError("cannot open 'a.png': the file is empty"))
    "cannot open 'a.png': the file is empty"
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


class NoSamples(SignalError, AttributeError):
    """An empty signal was asked for its samples; to `getattr` and `hasattr` it has none.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> hasattr(Image(np.zeros((2, 2), np.uint8)).empty(), "array")
    False
    """


def damaged(what: str) -> SignalError:
    """The error for a file that is damaged or incomplete; `what` says how that was seen.

    >>> damaged("its last chunk ends at byte 7")
    SignalError('it is damaged or cut short: its last chunk ends at byte 7')
    """
    return SignalError(f"it is damaged or cut short: {what}")


@contextmanager
def damage_named(format: str) -> Iterator[None]:
    """Turns whatever a decoder raises on bad bytes into one sentence."""
    try:
        yield
    except (SignalError, PermissionError, FileNotFoundError, MemoryError, MissingExtra):
        raise
    except Exception as error:
        # Decoders raise all sorts on damaged bytes: numpy, for one, a tokenizer's error for a bad header.
        if type(error) is NameError:
            raise
        reason = one_line(error, LONGEST_REASON)
        raise SignalError(f"it is damaged or cut short, or no {format} this version reads: {reason}") from error
