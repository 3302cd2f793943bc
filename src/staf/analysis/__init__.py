"""What is learnt by looking at fields and fits: tangent kernels on data, parameter dynamics, activation maps."""

from __future__ import annotations

from staf.analysis.ntk import empirical_ntk
from staf.analysis.selection import selected_parameters

__all__ = ["empirical_ntk", "selected_parameters"]
