"""How fast the library is, beside the formulas that the papers' authors released, in one run on one machine."""

from __future__ import annotations

from .cases import SUITES, Case, Version
from .figure import draw
from .gate import GateError
from .report import summary_table, to_markdown
from .runner import run_suite

__all__ = ["SUITES", "Case", "GateError", "Version", "draw", "run_suite", "summary_table", "to_markdown"]
