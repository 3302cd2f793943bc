"""Numbers and comments as source code."""

from __future__ import annotations

import math
import re

import numpy as np

from staf.export.errors import ExportError


def literal(value: float, suffix: str = "") -> str:
    """The shortest decimal that is this number in float32, always with a point or an exponent.

    >>> literal(0.1, "f"), literal(-2), literal(1e-30)
    ('0.1f', '-2.0', '1e-30')
    """
    single = np.float32(value)
    if not math.isfinite(single):
        raise ExportError(f"cannot write {value} as source code: the field holds a number that is not finite")
    text = np.format_float_scientific(single, trim="-") if 0 < abs(single) < 1e-4 or abs(single) >= 1e7 else None
    text = text or np.format_float_positional(single, trim="0")
    text = re.sub(r"e([+-])0*(\d)", lambda match: f"e{match[1].strip('+')}{match[2]}", text)
    return text + suffix


def comment(sentences: list[str], start: str, end: str = "") -> list[str]:
    """Lines of a comment, in which nothing can end it early.

    >>> comment(["a */ b"], "/* ", " */")
    ['/* a * / b */']
    """
    plain = [re.sub(r"[^\x20-\x7e]", "?", sentence).replace("*/", "* /") for sentence in sentences]
    return [f"{start}{sentence}{end}" for sentence in plain]
