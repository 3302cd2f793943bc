"""Every network learns: a small picture, plain Adam, far above where it started and above the mean value."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from staf.nn import NETWORKS, Incode

SIDE = 24
# WIRE's own 30 is for photographs: on so small a picture it learns nothing in a hundred steps.
SLOW = {"omega0": 10, "hidden_omega0": 10}
FITS: list[tuple[str, dict[str, Any], float]] = [
    ("staf", {}, 2e-3),
    ("staf", {"sharing": "neuron"}, 2e-3),
    ("staf", {"sharing": "network", "omega0": 30}, 2e-3),
    ("staf", {"law": "released", "weights": "torch", "omega0": 60, "skip": True}, 1e-3),
    ("siren", {}, 2e-3),
    ("finer", {}, 1e-3),
    ("wire", SLOW, 5e-3),
    ("wire", {"planar": True, **SLOW}, 5e-3),
    ("gauss", {}, 5e-3),
    ("ffn", {"features": 64, "scale": 4}, 5e-3),
    ("pemlp", {"bands": 4}, 1e-2),
    ("mfn", {"input_scale": 64}, 5e-3),
    ("mfn", {"filters": "fourier", "input_scale": 64}, 5e-3),
    ("incode", {}, 1e-3),
]


def picture() -> tuple[Tensor, Tensor]:
    """Waves of several scales and an edge, in three colours."""
    axis = torch.linspace(-1, 1, SIDE)
    row, column = torch.meshgrid(axis, axis, indexing="ij")
    waves = torch.stack([torch.sin(9 * row * column), torch.cos(14 * row + 5 * column), torch.sign(column - row)])
    return torch.stack([row, column], -1).reshape(-1, 2), (waves.reshape(3, -1).T / 2 + 0.5)


def decibels(error: Tensor) -> float:
    return -10 * math.log10(error.square().mean().item())


@pytest.mark.parametrize(("name", "arguments", "rate"), FITS)
def test_ten_decibels_above_the_start_and_the_mean(name: str, arguments: dict[str, Any], rate: float) -> None:
    coordinates, target = picture()
    field = NETWORKS[name].factory(2, 3, width=64, depth=3, generator=torch.Generator().manual_seed(0), **arguments)
    if isinstance(field, Incode):
        field.bind(SimpleNamespace(observation=target.T.reshape(3, SIDE, SIDE)))
    start = decibels(field(coordinates) - target)
    floor = 10 + max(start, decibels(target - target.mean(0)))
    optimiser = torch.optim.Adam(field.parameters(), lr=rate)
    for _ in range(100):
        optimiser.zero_grad()
        loss = (field(coordinates) - target).square().mean()
        loss.backward()
        optimiser.step()
    assert decibels(field(coordinates) - target) > floor
