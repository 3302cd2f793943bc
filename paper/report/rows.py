"""The row of a result: its network, with what sets it apart from others of its kind."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from paper.runner.result import RunResult


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation; None of fewer than two values, and where one is infinite, as a distance to nothing is.

    >>> deviation([1.0, 3.0, 5.0]), deviation([1.0]), deviation([1.0, math.inf])
    (2.0, None, None)
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return None
    return statistics.stdev(values)


def row_name(configuration: Mapping[str, Any]) -> str:
    """The network's name, and its number of terms where it was changed.

    >>> row_name({"model": "staf", "terms": 5}), row_name({"model": "siren"})
    ('staf, 5 terms', 'siren')
    """
    terms = configuration.get("terms")
    return str(configuration["model"]) + (f", {terms} terms" if terms else "")


def protocol_name(result: RunResult) -> str:
    """The protocol of a run; a dash for methods that train no network, which belong to none.

    >>> from pathlib import Path
    >>> document = {"configuration": {"model": "bicubic", "protocol": "ours"}, "details": {"steps": 0}}
    >>> protocol_name(RunResult(Path(), document))
    '-'
    """
    return "-" if result.details.get("steps") == 0 else str(result.configuration["protocol"])


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "image"), counted(2, "image")
    ('1 image', '2 images')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
