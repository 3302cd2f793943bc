"""The one list of networks, and of variants, that the shared tests walk through."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from staf.nn import NETWORKS, HashGridEncoding, Incode

GRID = {"levels": 3, "log2_entries": 7, "coarsest": 3, "finest": 12}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "staf": ("staf", {}),
    "staf-theorem": ("staf", {"law": "theorem", "weights": "torch", "omega0": 30}),
    "staf-released": ("staf", {"law": "released", "weights": "torch", "omega0": 60, "skip": True}),
    "staf-unit-gain": ("staf", {"law": "theorem", "weights": "unit_gain", "omega0": 30}),
    "staf-neuron": ("staf", {"sharing": "neuron", "terms": 2}),
    "staf-neuron-unit-gain": ("staf", {"sharing": "neuron", "weights": "unit_gain", "law": "theorem"}),
    "staf-network": ("staf", {"sharing": "network", "omega0": 30}),
    "staf-amplitude": ("staf", {"train": ("amplitude",)}),
    "staf-frozen": ("staf", {"train": ()}),
    "staf-one-term": ("staf", {"terms": 1}),
    "siren": ("siren", {}),
    "siren-audio": ("siren", {"omega0": 3000}),
    "finer": ("finer", {}),
    "wire": ("wire", {}),
    "wire-2d": ("wire", {"planar": True, "omega0": 6, "hidden_omega0": 6, "sigma0": 2}),
    "gauss": ("gauss", {}),
    "ffn": ("ffn", {"features": 16}),
    "ffn-bands": ("ffn", {"bands": 5}),
    "ffn-sigmoid": ("ffn", {"features": 16, "sigmoid": True}),
    "pemlp": ("pemlp", {}),
    "mfn": ("mfn", {"input_scale": 32}),
    "mfn-fourier": ("mfn", {"filters": "fourier", "input_scale": 32}),
    "incode": ("incode", {}),
    "incode-denoising": ("incode", {"harmoniser": "denoising"}),
    "incode-audio": ("incode", {"harmoniser": "audio"}),
    "incode-shape": ("incode", {"harmoniser": "shape"}),
    "incode-baked": ("incode", {"harmoniser": None}),
    "ngp": ("ngp", {**GRID, "interpolation": "smoothstep"}),
    "ngp-linear": ("ngp", GRID),
    "ngp-staf": ("ngp", {**GRID, "activation": "staf"}),
    "ngp-gauss": ("ngp", {**GRID, "activation": "gauss"}),
    "kan": ("kan", {"degree": 4}),
    "relu": ("relu", {}),
}
OBSERVATIONS = {"image": (3, 16, 12), "denoising": (3, 16, 12), "audio": (1, 900), "shape": (1, 6, 8, 7)}
IN, OUT = 2, 3


def observed(signal: str) -> Any:
    """A task as far as INCODE knows one."""
    return SimpleNamespace(observation=torch.rand(OBSERVATIONS[signal], generator=torch.Generator().manual_seed(5)))


def bound(field: nn.Module) -> nn.Module:
    """The field, having read an observation where it reads one."""
    if isinstance(field, Incode) and field.harmoniser is not None:
        field.bind(observed(field.harmoniser.signal))
    return field


def make(variant: str, seed: int = 0, **changes: Any) -> nn.Module:
    """A small network of the list."""
    name, arguments = VARIANTS[variant]
    settings = {"width": 12, "depth": 3, **arguments, **changes}
    field = bound(NETWORKS[name].factory(IN, OUT, **settings, generator=torch.Generator().manual_seed(seed)))
    for part in field.modules():
        if isinstance(part, HashGridEncoding):
            # Features of the size that training gives them; at their start they are nearly zero.
            with torch.no_grad():
                part.table.mul_(1e4)
    return field


def points(count: int = 9, dtype: torch.dtype = torch.float32) -> Tensor:
    """Coordinates in [-1, 1]."""
    drawn = torch.rand(count, IN, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return (drawn * 2 - 1).to(dtype)
