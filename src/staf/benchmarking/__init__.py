"""How fast the library is beside the formulas that the papers' authors released: the short suite of `staf bench`.

The full suites are in `benchmarks/` of a checkout and use the same cases, gate and timing.
"""

from __future__ import annotations

from staf.benchmarking.cases import Case, Version, short_cases
from staf.benchmarking.figure import draw
from staf.benchmarking.gate import GateError
from staf.benchmarking.report import summary_table, to_markdown
from staf.benchmarking.runner import failures, matching, run_cases

__all__ = [
    "Case",
    "GateError",
    "Version",
    "draw",
    "failures",
    "matching",
    "run_cases",
    "short_cases",
    "summary_table",
    "to_markdown",
]
