"""Every network of the library in a small form, with weights that are not the initial ones."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

import staf

Make = Callable[..., nn.Module]
SMOOTH = {"interpolation": "smoothstep"}
NETWORKS: dict[str, Make] = {
    "staf": lambda d, c, **k: staf.staf(d, c, **k),
    "staf-neuron": lambda d, c, **k: staf.staf(d, c, sharing="neuron", **k),
    "staf-network": lambda d, c, **k: staf.staf(d, c, sharing="network", law="theorem", omega0=30, **k),
    "staf-skip": lambda d, c, **k: staf.staf(d, c, skip=True, law="released", weights="torch", omega0=60, **k),
    "siren": lambda d, c, **k: staf.siren(d, c, **k),
    "finer": lambda d, c, **k: staf.finer(d, c, **k),
    "gauss": lambda d, c, **k: staf.gauss(d, c, **k),
    "wire": lambda d, c, **k: staf.wire(d, c, omega0=10, hidden_omega0=10, **k),
    "wire-planar": lambda d, c, **k: staf.wire(d, c, omega0=10, hidden_omega0=10, planar=True, **k),
    "ffn": lambda d, c, **k: staf.ffn(d, c, features=32, scale=3.0, **k),
    "ffn-bands": lambda d, c, **k: staf.ffn(d, c, bands=4, **k),
    "pemlp": lambda d, c, **k: staf.pemlp(d, c, bands=5, **k),
    "mfn": lambda d, c, **k: staf.mfn(d, c, input_scale=32.0, **k),
    "mfn-fourier": lambda d, c, **k: staf.mfn(d, c, filters="fourier", input_scale=32.0, **k),
    "ngp": lambda d, c, **k: staf.ngp(d, c, levels=5, log2_entries=6, coarsest=3, finest=40, **k),
    "ngp-smooth": lambda d, c, **k: staf.ngp(
        d,
        c,
        levels=3,
        features=4,
        log2_entries=8,
        coarsest=2,
        finest=9,
        activation="staf",
        interpolation="smoothstep",
        **k,
    ),
    "relu": lambda d, c, **k: staf.relu(d, c, **k),
    "kan": lambda d, c, **k: staf.kan(d, c, degree=5, **k),
    "incode": lambda d, c, **k: staf.incode(d, c, harmoniser=None, **k),
}
# Together they have every kind of step, in every form: for tests that have to compile programs for each network.
EVERY_STEP = ["staf-neuron", "staf-skip", "finer", "gauss", "wire", "wire-planar", "ffn", "mfn", "kan"]
EVERY_STEP += ["ngp", "ngp-smooth"]

GRID = {"levels": 3, "log2_entries": 6, "coarsest": 3, "finest": 20}
SCENE_NETWORKS: dict[str, Make] = {
    "radiance": lambda **k: staf.radiance(6, 4, features=10, **k),
    "radiance-harmonics": lambda **k: staf.radiance(6, 4, features=7, directions="harmonics", **k),
    "radiance-frequencies": lambda **k: staf.radiance(
        6, 4, features=7, activation="wire", omega0=5.0, bands=2, directions="frequencies", **k
    ),
    "radiance_grid": lambda **k: staf.radiance_grid(6, 4, features=6, **GRID, **k),
    "radiance_grid-finer": lambda **k: staf.radiance_grid(
        6, 4, features=6, activation="finer", interpolation="smoothstep", **GRID, **k
    ),
}


def make(name: str, inputs: int = 2, outputs: int = 3, *, width: int = 24, depth: int = 3, seed: int = 0) -> nn.Module:
    """The network in evaluation mode, its sinusoids moved away from their start."""
    generator = torch.Generator().manual_seed(seed)
    return _moved(NETWORKS[name](inputs, outputs, width=width, depth=depth, generator=generator), generator)


def make_radiance(name: str, *, width: int = 12, depth: int = 2, seed: int = 0) -> nn.Module:
    """A network of a scene in evaluation mode, moved away from its start."""
    generator = torch.Generator().manual_seed(seed)
    return _moved(SCENE_NETWORKS[name](width=width, depth=depth, generator=generator), generator)


def _moved(field: nn.Module, generator: torch.Generator) -> nn.Module:
    with torch.no_grad():
        for name_of, parameter in field.named_parameters():
            real = torch.view_as_real(parameter) if parameter.is_complex() else parameter
            real.mul_(1 + 0.05 * torch.randn(real.shape, generator=generator))
            real.add_(torch.randn(real.shape, generator=generator) * (0.1 if "table" in name_of else 1e-3))
    return field.eval()


def points(count: int, inputs: int = 2, seed: int = 1) -> torch.Tensor:
    return torch.rand(count, inputs, generator=torch.Generator().manual_seed(seed)) * 2 - 1
