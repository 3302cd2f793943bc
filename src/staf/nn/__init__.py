"""Networks: activations, encodings, initialisation laws, and every network of the paper by name."""

from __future__ import annotations

from typing import Any

from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, GaussianEncoding, HashGridEncoding, nyquist_bands
from staf.nn.filter_network import MultiplicativeFilterNetwork
from staf.nn.gabor_network import Wire
from staf.nn.harmonised_network import Incode
from staf.nn.networks import NETWORKS, SCENE_NETWORKS, NetworkSpec, build
from staf.nn.networks.ffn import ffn
from staf.nn.networks.finer import finer
from staf.nn.networks.gauss import gauss
from staf.nn.networks.incode import incode
from staf.nn.networks.mfn import mfn
from staf.nn.networks.ngp import ngp
from staf.nn.networks.pemlp import pemlp
from staf.nn.networks.radiance import radiance
from staf.nn.networks.radiance_grid import radiance_grid
from staf.nn.networks.siren import siren
from staf.nn.networks.staf import staf
from staf.nn.networks.wire import wire
from staf.nn.roles import parameter_roles
from staf.nn.sine_series import SineSeries

__all__ = [
    "NETWORKS",
    "SCENE_NETWORKS",
    "CoordinateMLP",
    "Finer",
    "FrequencyEncoding",
    "Gauss",
    "GaussianEncoding",
    "HashGridEncoding",
    "Incode",
    "MultiplicativeFilterNetwork",
    "NetworkSpec",
    "Sine",
    "SineSeries",
    "Wire",
    "build",
    "ffn",
    "finer",
    "gauss",
    "incode",
    "mfn",
    "ngp",
    "nyquist_bands",
    "parameter_roles",
    "pemlp",
    "radiance",
    "radiance_grid",
    "siren",
    "staf",
    "wire",
]


def __getattr__(name: str) -> Any:
    """The factory of a network that is not named above: a new file in `networks`, or one that was registered."""
    if name in NETWORKS:
        return NETWORKS[name].factory
    raise AttributeError(f"module 'staf.nn' has no attribute {name!r}")
