"""Strings and numbers of a report. Every string that reaches a page passes through `text`."""

from __future__ import annotations

import math

from staf._page_policy import text

__all__ = ["duration", "number", "text"]


def number(value: float | None, digits: int = 2) -> str:
    """A number for people, or a dash where there is none.

    >>> number(41.234), number(None), number(math.inf)
    ('41.23', '–', '∞')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.{digits}f}"


def duration(seconds: float) -> str:
    """A time span in words.

    >>> duration(7.25), duration(83), duration(4000)
    ('7.2 s', '1 min 23 s', '1 h 6 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
