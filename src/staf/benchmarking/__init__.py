"""How fast the library is, beside the formulas that the papers' authors released, in one run on one machine."""

from __future__ import annotations

from staf.benchmarking.cases import SUITES, Case, Version
from staf.benchmarking.figure import draw
from staf.benchmarking.gate import GateError
from staf.benchmarking.report import summary_table, to_markdown
from staf.benchmarking.runner import run_suite

__all__ = ["SUITES", "Case", "GateError", "Version", "draw", "run_suite", "summary_table", "to_markdown"]
