"""What is observed of a signal: linear maps `A` with their adjoints, and noise.

Operators act on tensors (..., *shape), the axes of the grid last, so that channels and batches lead.
"""

from __future__ import annotations

from staf.operators.area_downsampling import AreaDownsampling
from staf.operators.linear import LinearOperator, SampleMeans
from staf.operators.mask import Mask
from staf.operators.noise import PhotonNoise

__all__ = ["AreaDownsampling", "LinearOperator", "Mask", "PhotonNoise", "SampleMeans"]
