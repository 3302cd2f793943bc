"""The one exception for a signal that cannot be read, used or written."""

from __future__ import annotations


class SignalError(ValueError):
    """A mistake that the user can act on: its message is one sentence and is meant to be shown as it is.

    >>> str(SignalError("cannot open 'a.png': the file is empty"))
    "cannot open 'a.png': the file is empty"
    """
