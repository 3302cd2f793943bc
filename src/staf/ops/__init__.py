"""Numeric operations: one folder each, with the formula, its kernels and the public function."""

from __future__ import annotations

from staf.ops.backend import backend, record_backends
from staf.ops.execution import Execution
from staf.ops.finer import finer
from staf.ops.gauss import gauss
from staf.ops.hash_grid import GridLayout, hash_grid
from staf.ops.sine import sine
from staf.ops.sine_layer import sine_layer
from staf.ops.sine_network import SineLayer, fixed_network, sine_network
from staf.ops.sine_series import sine_series

__all__ = [
    "Execution",
    "GridLayout",
    "SineLayer",
    "backend",
    "finer",
    "fixed_network",
    "gauss",
    "hash_grid",
    "record_backends",
    "sine",
    "sine_layer",
    "sine_network",
    "sine_series",
]
