"""Every network by name, one file each; their constants are only in this folder.

All factories start with `(in_features, out_features, *, width=256, depth=4, ...)`, where depth counts activated layers;
the other arguments are the network's own constants. `build` makes the same network from `field.architecture`. A file in
this folder with a `SPEC` is a network; `register` adds one from another package. `SCENE_NETWORKS` are networks for
scenes, made of the layers of the others: a plan chooses them, and files name them.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import nn

from staf._documents import Entries
from staf._networks import SCENE_NETWORKS as SCENE_FILES
from staf._networks import network_files
from staf.nn.architecture import Device, read_architecture
from staf.nn.arguments import did_you_mean
from staf.nn.networks.spec import Constants, NetworkSpec, Preset, Rates, Row, Settings

__all__ = [
    "NETWORKS",
    "SCENE_NETWORKS",
    "Constants",
    "NetworkSpec",
    "Preset",
    "Rates",
    "Row",
    "Settings",
    "build",
    "model_of",
    "network_named",
    "register",
]

NETWORKS: dict[str, NetworkSpec] = {}
SCENE_NETWORKS: dict[str, NetworkSpec] = {}


def register(spec: NetworkSpec) -> NetworkSpec:
    """Register a network by its name, for plans, the command line and files.

    >>> register(NETWORKS["siren"]) is NETWORKS["siren"]
    True
    """
    known = NETWORKS.get(spec.name)
    if known is not None and known is not spec:
        raise ValueError(f"name must be new, and there is a network {spec.name!r} already")
    if getattr(spec.factory, "__name__", None) != spec.name:
        raise ValueError(f"factory must be a function called {spec.name!r}, as its files name it, got {spec.factory!r}")
    NETWORKS[spec.name] = spec
    return spec


def network_named(name: str) -> NetworkSpec:
    """The network with this name, or an error that suggests a similar one.

    >>> network_named("siren").name
    'siren'
    """
    if name not in NETWORKS:
        raise ValueError(f"there is no model {name!r}; {did_you_mean(name, NETWORKS)}")
    return NETWORKS[name]


def model_of(architecture: Entries) -> str:
    """The name for `--model` of an architecture: its own, or of the network whose layers it is made of.

    >>> model_of({"name": "radiance", "arguments": {"activation": "relu"}})
    'pemlp'
    >>> model_of({"name": "ngp", "arguments": {"activation": "staf"}})
    'staf'
    """
    name = architecture["name"]
    if name in NETWORKS and NETWORKS[name].grid:
        behind = architecture["arguments"]["activation"]
        return next((spec.name for spec in NETWORKS.values() if spec.decoder == behind), name)
    if name not in SCENE_NETWORKS:
        return name
    activation = architecture["arguments"]["activation"]
    with_layers = {spec.scene[name].constants["activation"]: spec.name for spec in NETWORKS.values() if spec.scene}
    return with_layers[activation]


def build(
    architecture: Any,
    *,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """The network that `field.architecture` describes, freshly initialised; on the meta device, nothing is allocated.

    The dictionary may come from a file that is not trusted: names and arguments are looked up in `NETWORKS` and in the
    factory's signature, checked for type and size, and refused with the reason otherwise.

    >>> field = build({"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "width": 16}}, device="meta")
    >>> field.architecture["arguments"]["omega0"]
    30.0
    """
    factories = {name: spec.factory for name, spec in {**NETWORKS, **SCENE_NETWORKS}.items()}
    factory, arguments = read_architecture(architecture, factories)
    return factory(**arguments, generator=generator, device=device, dtype=dtype)


for _file in network_files():
    register(importlib.import_module(f"{__name__}.{_file}").SPEC)
for _file in SCENE_FILES:
    SCENE_NETWORKS[_file] = importlib.import_module(f"{__name__}.{_file}").SPEC
