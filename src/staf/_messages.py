"""Messages that can be shown: one line, without letters that a terminal would obey."""

from __future__ import annotations

import re

LONGEST = 900


def one_line(words: object, longest: int = LONGEST) -> str:
    """What an error or a text says, in one line of bounded length.

    >>> one_line(ValueError("two\\nlines \\x00")), one_line("abcdef", longest=4)
    ('two lines \\\\x00', 'a...')
    """
    # A text of many megabytes is cut before it is looked at.
    text = re.sub(r"\s*[\n\r]\s*", " ", str(words)[: 4 * longest]).strip() or type(words).__name__
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return shown if len(shown) <= longest else shown[: longest - 3] + "..."


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "step"), counted(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
