"""Several networks on one image under the same budget: what `staf compare` runs, tabulates and draws."""

from __future__ import annotations

from staf.comparison.figure import comparison_figure
from staf.comparison.networks import Comparison, compare_networks
from staf.comparison.result_file import NetworkFailure, NetworkResult
from staf.comparison.table import NetworkRow, network_table, rates_in_words

__all__ = [
    "Comparison",
    "NetworkFailure",
    "NetworkResult",
    "NetworkRow",
    "compare_networks",
    "comparison_figure",
    "network_table",
    "rates_in_words",
]
