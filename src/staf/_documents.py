"""Data by name, as JSON holds it: its types, its reading from files of strangers, and its entries, each checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The metadata of a file, a result for machines, plain data for a figure, arguments to be passed on.
Document = dict[str, Any]
# The same, only read.
Entries = Mapping[str, Any]

# Parsed JSON takes up to a hundred bytes for each of its entries.
MOST_ENTRIES = 2**20
LARGEST_FILE = 2**26
LONGEST_NAME, LONGEST_TEXT, MOST_TEXTS = 10_000, 10_000, 1000
# Samples of a signal, over all its axes: a field can be rendered at its own size.
MOST_POINTS = 2**36
LARGEST_NUMBER = 3.4e38


def parse_json(text: str | bytes, most_entries: int = MOST_ENTRIES) -> Any:
    """The content of a JSON text; a ValueError for a text that would fill memory or the stack.

    >>> parse_json("[" * 10**5)
    Traceback (most recent call last):
    ValueError: it is nested too deeply
    """
    marks: tuple[Any, ...] = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    if sum(text.count(mark) for mark in marks) > most_entries:
        raise ValueError(f"it has more than {most_entries:,} entries")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(path: Path) -> Any:
    """What a JSON file holds; a ValueError where it holds none, or too much."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(f"it has {size:,} bytes, more than {LARGEST_FILE:,}")
    return parse_json(path.read_bytes())


class Record:
    """Data by name from a stranger, read entry by entry: a ValueError names the entry, the rule and the value.

    >>> Record({"rate": 8000}).whole("rate", least=1)
    8000
    >>> Record({"rate": "8000"}).whole("rate", least=1)
    Traceback (most recent call last):
    ValueError: rate must be a whole number of at least 1, got '8000'
    """

    def __init__(self, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise ValueError(f"it must be data by name, got {_shown(data)}")
        self._data = data

    def get(self, name: str) -> Any:
        """An entry as it is."""
        if name not in self._data:
            raise ValueError(f"{name} is missing")
        return self._data[name]

    def whole(self, name: str, *, least: int = 0, most: int = 2**53) -> int:
        """A whole number."""
        return _whole(name, self.get(name), least, most)

    def wholes(self, name: str, counts: range, *, least: int = 0, most: int = 2**53) -> tuple[int, ...]:
        """A list of as many whole numbers as `counts` allows."""
        return tuple(_whole(name, value, least, most) for value in self._list(name, counts))

    def grid(self, name: str, counts: range) -> tuple[int, ...]:
        """The samples of a signal along each axis, of which there are not too many."""
        sizes = self.wholes(name, counts, least=1, most=MOST_POINTS)
        if math.prod(sizes) > MOST_POINTS:
            raise ValueError(f"{name} must have at most {MOST_POINTS:,} samples, got {'x'.join(map(str, sizes))}")
        return sizes

    def number(self, name: str, *, least: float = -LARGEST_NUMBER, most: float = LARGEST_NUMBER) -> float:
        """A number."""
        return _number(name, self.get(name), least, most)

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """A list of so many numbers."""
        values = self._list(name, range(count, count + 1))
        return tuple(_number(name, value, -LARGEST_NUMBER, LARGEST_NUMBER) for value in values)

    def text(self, name: str, longest: int = LONGEST_NAME) -> str:
        """A text of bounded length."""
        value = self.get(name)
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError(f"{name} must be a text of at most {longest} letters, got {_shown(value)}")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        values = self._list(name, range(MOST_TEXTS + 1))
        if not all(isinstance(value, str) and len(value) <= LONGEST_TEXT for value in values):
            raise ValueError(f"{name} must be texts of at most {LONGEST_TEXT:,} letters")
        return list(values)

    def truth(self, name: str) -> bool:
        """True or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {_shown(value)}")
        return value

    def record(self, name: str) -> Record:
        """Data by name within this."""
        value = self.get(name)
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} must be data by name, got {_shown(value)}")
        return Record(value)

    def _list(self, name: str, counts: range) -> list[Any]:
        value = self.get(name)
        if not isinstance(value, (list, tuple)) or len(value) not in counts:
            most = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            raise ValueError(f"{name} must be a list of {most}, got {_shown(value)}")
        return list(value)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {_shown(value)}")
    if value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {_shown(value)}")
    return value


def _number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, got {_shown(value)}")
    return float(value)


def _shown(value: Any) -> str:
    """A value as it is written, cut where it is long."""
    if isinstance(value, (int, float, bool)) or value is None:
        return repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a number of many digits"
    if isinstance(value, str):
        return repr(value[:60]) + ("..." if len(value) > 60 else "")
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__
