"""What is learnt by looking at fields and fits: tangent kernels on data, parameter dynamics, activation maps."""

from __future__ import annotations

from staf.analysis.comparison import Comparison, compare_kernels, paper_networks, role_shares
from staf.analysis.convergence import LazyConvergence, lazy_convergence
from staf.analysis.dynamics import Dynamics, ParameterDynamics
from staf.analysis.features import LayerMaps, activation_maps
from staf.analysis.freezing import freeze_after_warm_up
from staf.analysis.inspection import inspect_figure
from staf.analysis.ntk import empirical_ntk
from staf.analysis.selection import selected_parameters
from staf.analysis.spectrum import Spectrum, alignment, ntk_spectrum

__all__ = [
    "Comparison",
    "Dynamics",
    "LayerMaps",
    "LazyConvergence",
    "ParameterDynamics",
    "Spectrum",
    "activation_maps",
    "alignment",
    "compare_kernels",
    "empirical_ntk",
    "freeze_after_warm_up",
    "inspect_figure",
    "lazy_convergence",
    "ntk_spectrum",
    "paper_networks",
    "role_shares",
    "selected_parameters",
]
