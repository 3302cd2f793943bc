"""What shapes ask of each network and of a step: constants for three coordinates, and batches of a large volume."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from staf.nn import models
from staf.nn.encodings import nyquist_bands
from staf.planning.rates import WIRE

# The paper's constant for shapes. The armadillo at 96 voxels, width 64, 300 steps of 8,192: omega0 15 gives a Chamfer
# distance of 9.3e-5, 30 gives 6.9e-5, 60 gives 7.3e-5.
OMEGA0 = 30.0
# Voxels of one step on a GPU: a volume has up to 10^8, most of them far from the surface and soon learnt.
GPU_BATCH = 2**18


def shape_of(signal: Any) -> Any:
    """The shape behind a signal or a task, or None.

    >>> from types import SimpleNamespace
    >>> shape = SimpleNamespace(kind="shape")
    >>> shape_of(SimpleNamespace(signal=shape)) is shape, shape_of(SimpleNamespace(kind="image"))
    (True, None)
    """
    signal = getattr(signal, "signal", signal)
    return signal if getattr(signal, "kind", None) == "shape" else None


def shape_field(model: str, shape: Any, generator: torch.Generator) -> nn.Module:
    """A network for the occupancy of a shape.

    >>> from types import SimpleNamespace
    >>> shape = SimpleNamespace(shape=(200, 256, 180))
    >>> shape_field("staf", shape, torch.Generator()).architecture["arguments"]["omega0"]
    30.0
    """
    arguments: dict[str, Any] = {}
    if model == "staf":
        arguments = {"omega0": OMEGA0}
    elif model == "wire":
        arguments = dict(WIRE)
    elif model == "incode":
        arguments = {"harmoniser": "shape"}
    elif model == "pemlp":
        arguments = {"bands": nyquist_bands(max(shape.shape))}
    return models.MODELS[model](3, 1, generator=generator, **arguments)
