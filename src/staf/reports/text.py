"""Strings made safe for HTML: every one that reaches a page passes here."""

from __future__ import annotations

import html
import math


def text(value: object) -> str:
    """A value as HTML text or attribute: markup escaped, control and direction characters made visible.

    >>> text("<script>alert('1')</script>")
    '&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;'
    >>> text("photo\u202egnp.exe")
    'photo\ufffdgnp.exe'
    """
    clean = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(value))
    return html.escape(clean, quote=True)


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
