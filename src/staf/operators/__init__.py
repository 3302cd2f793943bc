"""What is observed of a signal: linear maps `A` with their adjoints, and noise.

Operators act on tensors (..., *shape), the axes of the grid last, so that channels and batches lead.
"""

from __future__ import annotations

from staf.operators.area_downsampling import AreaDownsampling
from staf.operators.beams import Beam, BeamIntegrals, cone_beam, fan_beam, parallel_beam
from staf.operators.blur import GaussianBlur
from staf.operators.composed import Composed
from staf.operators.differences import Gradient, Laplacian
from staf.operators.fourier import MaskedFourier, cartesian_mask
from staf.operators.linear import LinearOperator, SampleMeans
from staf.operators.mask import Mask
from staf.operators.noise import PhotonNoise, TransmissionNoise
from staf.operators.rays import RayIntegrals
from staf.operators.window import Window

__all__ = [
    "AreaDownsampling",
    "Beam",
    "BeamIntegrals",
    "Composed",
    "GaussianBlur",
    "Gradient",
    "Laplacian",
    "LinearOperator",
    "Mask",
    "MaskedFourier",
    "PhotonNoise",
    "RayIntegrals",
    "SampleMeans",
    "TransmissionNoise",
    "Window",
    "cartesian_mask",
    "cone_beam",
    "fan_beam",
    "parallel_beam",
]
