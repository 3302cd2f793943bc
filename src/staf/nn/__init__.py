"""Networks: activations, encodings, initialisation laws, and every network of the paper by name."""

from __future__ import annotations

from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, GaussianEncoding, nyquist_bands
from staf.nn.filter_network import MultiplicativeFilterNetwork
from staf.nn.gabor_network import Wire
from staf.nn.harmonised_network import Incode
from staf.nn.models import MODELS, build, ffn, finer, gauss, incode, mfn, pemlp, siren, staf, wire
from staf.nn.roles import parameter_roles
from staf.nn.sine_series import SineSeries

__all__ = [
    "MODELS",
    "CoordinateMLP",
    "Finer",
    "FrequencyEncoding",
    "Gauss",
    "GaussianEncoding",
    "Incode",
    "MultiplicativeFilterNetwork",
    "Sine",
    "SineSeries",
    "Wire",
    "build",
    "ffn",
    "finer",
    "gauss",
    "incode",
    "mfn",
    "nyquist_bands",
    "parameter_roles",
    "pemlp",
    "siren",
    "staf",
    "wire",
]
