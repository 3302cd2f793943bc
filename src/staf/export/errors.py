"""The one exception for a field that cannot be exported."""

from __future__ import annotations


class ExportError(ValueError):
    """Why a field cannot be written in a format; its message is one sentence and is meant to be shown as it is.

    >>> str(ExportError("cannot export MyNetwork: its formula is not known"))
    'cannot export MyNetwork: its formula is not known'
    """
