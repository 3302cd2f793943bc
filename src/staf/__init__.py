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
    **dict.fromkeys(("FieldSet", "load_many"), "staf.field_set"),
    **dict.fromkeys(("WindowedField", "WindowedFit", "fit_windows", "load_windows"), "staf.windows"),
    **dict.fromkeys(("Audio", "Image", "Shape", "SignalError", "open"), "staf.signals"),
    **dict.fromkeys(
        ("Budget", "FileError", "Interrupted", "Muon", "Plan", "Recipe", "Soap", "plan", "plans", "recipes"),
        "staf.fitting",
    ),
    **dict.fromkeys(("Constant", "Cosine", "Exponential"), "staf.fitting"),
    **dict.fromkeys(
        ("CoordinateMLP", "SineSeries", "ffn", "finer", "gauss", "incode", "mfn", "pemlp", "siren", "staf", "wire"),
        "staf.nn",
    ),
    **dict.fromkeys(("backend",), "staf.ops"),
    **dict.fromkeys(("Reconstruction",), "staf.tasks"),
}
_ROOMS: tuple[str, ...] = (
    "analysis",
    "experiments",
    "figures",
    "fitting",
    "metrics",
    "nn",
    "operators",
    "ops",
    "reports",
    "signals",
)
_ROOMS += ("benchmarking", "tasks", "theory")

__all__ = [*sorted(_HOMES), *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from .api import Fit, FittedField, fit, load
    from .field_set import FieldSet, load_many
    from .fitting import (
        Budget,
        Constant,
        Cosine,
        Exponential,
        FileError,
        Interrupted,
        Muon,
        Plan,
        Recipe,
        Soap,
        plan,
        plans,
        recipes,
    )
    from .many import ManyFits, fit_many
    from .nn import CoordinateMLP, SineSeries, ffn, finer, gauss, incode, mfn, pemlp, siren, staf, wire
    from .ops import backend
    from .signals import Audio, Image, Shape, SignalError, open
    from .tasks import Reconstruction
    from .windows import WindowedField, WindowedFit, fit_windows, load_windows


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"staf.{name}")
    else:
        raise AttributeError(f"module 'staf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
