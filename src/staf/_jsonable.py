"""Values as strict JSON data, the canonical text of such data, and its hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any


def jsonable(value: Any) -> Any:
    """Dataclasses, tuples and paths as strict JSON data; numbers that JSON lacks become "inf", "-inf" and "nan".

    `float` reads those strings back. Anything else, such as an array, is refused.

    >>> jsonable({"size": (2, 3), "psnr": math.inf})
    {'size': [2, 3], 'psnr': 'inf'}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"names in JSON data must be strings, got {list(value)!r}")
        return {name: jsonable(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(entry) for entry in value]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"JSON data is numbers, strings, lists, mappings and dataclasses, got {type(value).__name__}")


def canonical(value: Any) -> str:
    """One text for equal data: names sorted, no spaces.

    >>> canonical({"b": 1, "a": (True, None)})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(jsonable(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()
