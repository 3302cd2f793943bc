"""Results about trainable sinusoids that need no training: one file each, in corrected and general form.

The functions most often wanted are here by name; `initialisation`, `layer_statistics`, `sine_of_uniform`,
`sine_of_normal`, `potential_frequencies`, `rational_elusive`, `kernels`, `jacobi_anger`, `amplitude_moments`,
`adaptive_activations` and `fourier_series` are modules to be used as such, and `registry.RESULTS` has every result by
name.

>>> from staf import theory
>>> theory.delannoy(256, 4), round(theory.sine_of_uniform.arcsine_distance_bound(30.0), 4)
(2885900289, 0.0262)
"""

from __future__ import annotations

from staf.theory import (
    adaptive_activations,
    amplitude_moments,
    fourier_series,
    initialisation,
    jacobi_anger,
    kernels,
    layer_statistics,
    potential_frequencies,
    rational_elusive,
    sine_of_normal,
    sine_of_uniform,
)
from staf.theory.dual import dual_activation, dual_activation_derivative, dual_covariance
from staf.theory.gradient_gain import gradient_gains
from staf.theory.kernels import nngp_ntk
from staf.theory.kronecker import kronecker_equivalent
from staf.theory.potential_frequencies import delannoy

__all__ = [
    "adaptive_activations",
    "amplitude_moments",
    "delannoy",
    "dual_activation",
    "dual_activation_derivative",
    "dual_covariance",
    "fourier_series",
    "gradient_gains",
    "initialisation",
    "jacobi_anger",
    "kernels",
    "kronecker_equivalent",
    "layer_statistics",
    "nngp_ntk",
    "potential_frequencies",
    "rational_elusive",
    "sine_of_normal",
    "sine_of_uniform",
]
