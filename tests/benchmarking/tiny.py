"""Cases small enough to time in a moment."""

from __future__ import annotations

from typing import Any

from benchmarks.suites import ManyCase
from staf.benchmarking.cases import COMPILED, OURS, RELEASED, Case
from staf.benchmarking.timing import Effort

QUICK = Effort(seconds=0.001, least=1, most=2)
VERSIONS = (RELEASED, OURS)


def tiny(kind: Any = "train", model: Any = "staf", **changes: Any) -> Case:
    terms = 3 if model == "staf" else None
    options: dict[str, Any] = {"terms": terms, "versions": VERSIONS, "width": 8, "depth": 2, **changes}
    points = options.pop("points", 16)
    if kind == "many":
        return ManyCase(kind, model, points, images=2, steps=2, **options)
    return Case(kind, model, points, **options)


__all__ = ["COMPILED", "OURS", "QUICK", "RELEASED", "tiny"]
