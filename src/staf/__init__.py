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
    **dict.fromkeys(("ManyFits", "fit_many"), "staf.many"),
    **dict.fromkeys(("WindowedField", "WindowedFit", "fit_windows", "load_windows"), "staf.windows"),
    **dict.fromkeys(("FieldSet", "load_many"), "staf.storage.field_set"),
    **dict.fromkeys(("FileError",), "staf.storage"),
    **dict.fromkeys(("Audio", "Grid", "Image", "Shape", "open"), "staf.kinds"),
    **dict.fromkeys(("Signal", "SignalError"), "staf.signals"),
    **dict.fromkeys(("Occupancy",), "staf.kinds.shape.task"),
    **dict.fromkeys(("Budget", "Plan", "plan", "plans", "recipes"), "staf.planning"),
    **dict.fromkeys(("Interrupted", "Muon", "Recipe", "Soap"), "staf.training"),
    **dict.fromkeys(("Constant", "Cosine", "Exponential"), "staf.training"),
    **dict.fromkeys(
        ("CoordinateMLP", "SineSeries", "ffn", "finer", "gauss", "incode", "mfn", "pemlp", "siren", "staf", "wire"),
        "staf.nn",
    ),
    **dict.fromkeys(("backend",), "staf.ops"),
    **dict.fromkeys(("Reconstruction",), "staf.tasks"),
}
_ROOMS = (
    "analysis",
    "benchmarking",
    "comparison",
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
)

__all__ = [*sorted(_HOMES), *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from staf.api import Fit, FittedField, fit, load
    from staf.kinds import Audio, Grid, Image, Shape, open
    from staf.kinds.shape.task import Occupancy
    from staf.many import ManyFits, fit_many
    from staf.nn import CoordinateMLP, SineSeries, ffn, finer, gauss, incode, mfn, pemlp, siren, staf, wire
    from staf.ops import backend
    from staf.planning import Budget, Plan, plan, plans, recipes
    from staf.signals import Signal, SignalError
    from staf.storage import FileError
    from staf.storage.field_set import FieldSet, load_many
    from staf.tasks import Reconstruction
    from staf.training import Constant, Cosine, Exponential, Interrupted, Muon, Recipe, Soap
    from staf.windows import WindowedField, WindowedFit, fit_windows, load_windows


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
