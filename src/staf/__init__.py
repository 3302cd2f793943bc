"""staf: fit signals with networks of trainable sinusoids.

>>> import staf
>>> field = staf.siren(2, 3)
>>> sum(p.numel() for p in field.parameters())
198915
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> the module it lives in; nothing is imported before it is used.
_HOMES = {
    **dict.fromkeys(("Fit", "FittedField", "fit", "load"), "staf.api"),
    **dict.fromkeys(("ManyFits", "fit_many"), "staf.many.fitting"),
    **dict.fromkeys(("learn_start", "load_start", "save_start"), "staf.many.start"),
    **dict.fromkeys(("WindowedField", "WindowedFit", "fit_windows", "load_windows"), "staf.windows"),
    **dict.fromkeys(("FieldSet", "StackedFields", "load_many"), "staf.storage.field_set"),
    **dict.fromkeys(("convert_sirens",), "staf.storage.sets.foreign"),
    **dict.fromkeys(("FileError",), "staf.storage"),
    **dict.fromkeys(("Audio", "Grid", "Image", "PointCloud", "Scene", "Shape", "Video", "open"), "staf.kinds"),
    **dict.fromkeys(("Signal", "SignalError"), "staf.signals"),
    **dict.fromkeys(("Occupancy",), "staf.kinds.shape.task"),
    **dict.fromkeys(("Radiance",), "staf.kinds.scene.task"),
    **dict.fromkeys(("SignedDistance",), "staf.kinds.cloud.task"),
    **dict.fromkeys(("Budget", "Plan", "plan", "plans", "recipes"), "staf.planning"),
    **dict.fromkeys(("Interrupted", "Muon", "Recipe", "Soap"), "staf.training"),
    **dict.fromkeys(("Constant", "Cosine", "Exponential"), "staf.training"),
    **dict.fromkeys(("CoordinateMLP", "SineSeries"), "staf.nn"),
    **dict.fromkeys(("ffn", "finer", "gauss", "incode", "kan", "mfn", "ngp", "pemlp", "relu"), "staf.nn"),
    **dict.fromkeys(("siren", "staf", "wire", "radiance", "radiance_grid"), "staf.nn"),
    **dict.fromkeys(("backend",), "staf.ops"),
    **dict.fromkeys(("Reconstruction",), "staf.tasks"),
}
_ROOMS = (
    "analysis",
    "benchmarking",
    "callbacks",
    "comparison",
    "export",
    "figures",
    "kinds",
    "metrics",
    "nn",
    "operators",
    "ops",
    "planning",
    "reports",
    "signals",
    "storage",
    "tasks",
    "theory",
    "training",
    "viewer",
)

__all__ = [*sorted(_HOMES), *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from staf.api import Fit as Fit
    from staf.api import FittedField as FittedField
    from staf.api import fit as fit
    from staf.api import load as load
    from staf.kinds import Audio as Audio
    from staf.kinds import Grid as Grid
    from staf.kinds import Image as Image
    from staf.kinds import PointCloud as PointCloud
    from staf.kinds import Scene as Scene
    from staf.kinds import Shape as Shape
    from staf.kinds import Video as Video
    from staf.kinds import open as open
    from staf.kinds.cloud.task import SignedDistance as SignedDistance
    from staf.kinds.scene.task import Radiance as Radiance
    from staf.kinds.shape.task import Occupancy as Occupancy
    from staf.many.fitting import ManyFits as ManyFits
    from staf.many.fitting import fit_many as fit_many
    from staf.many.start import learn_start as learn_start
    from staf.many.start import load_start as load_start
    from staf.many.start import save_start as save_start
    from staf.nn import CoordinateMLP as CoordinateMLP
    from staf.nn import SineSeries as SineSeries
    from staf.nn import ffn as ffn
    from staf.nn import finer as finer
    from staf.nn import gauss as gauss
    from staf.nn import incode as incode
    from staf.nn import mfn as mfn
    from staf.nn import pemlp as pemlp
    from staf.nn import siren as siren
    from staf.nn import staf as staf
    from staf.nn import wire as wire
    from staf.nn.networks.kan import kan as kan
    from staf.nn.networks.ngp import ngp as ngp
    from staf.nn.networks.radiance import radiance as radiance
    from staf.nn.networks.radiance_grid import radiance_grid as radiance_grid
    from staf.nn.networks.relu import relu as relu
    from staf.ops import backend as backend
    from staf.planning import Budget as Budget
    from staf.planning import Plan as Plan
    from staf.planning import plan as plan
    from staf.planning import plans as plans
    from staf.planning import recipes as recipes
    from staf.signals import Signal as Signal
    from staf.signals import SignalError as SignalError
    from staf.storage import FileError as FileError
    from staf.storage.field_set import FieldSet as FieldSet
    from staf.storage.field_set import StackedFields as StackedFields
    from staf.storage.field_set import load_many as load_many
    from staf.storage.sets.foreign import convert_sirens as convert_sirens
    from staf.tasks import Reconstruction as Reconstruction
    from staf.training import Constant as Constant
    from staf.training import Cosine as Cosine
    from staf.training import Exponential as Exponential
    from staf.training import Interrupted as Interrupted
    from staf.training import Muon as Muon
    from staf.training import Recipe as Recipe
    from staf.training import Soap as Soap
    from staf.windows import WindowedField as WindowedField
    from staf.windows import WindowedFit as WindowedFit
    from staf.windows import fit_windows as fit_windows
    from staf.windows import load_windows as load_windows


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"staf.{name}")
    elif name in importlib.import_module("staf._networks").network_names():
        # A network that is not named above: a new file in `staf.nn.networks`, or one that was registered.
        return getattr(importlib.import_module("staf.nn"), name)
    else:
        raise AttributeError(f"module 'staf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
