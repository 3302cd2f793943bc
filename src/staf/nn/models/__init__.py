"""Every network by name: the only home of the papers' network constants.

All begin `(in_features, out_features, *, width=256, depth=4, ...)`, where depth counts activated layers, and then take
their own constants only. `field.architecture` is what `build` needs to make the same network again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from staf.nn._architecture import Device, read_architecture
from staf.nn.models.others import ffn, gauss, mfn, pemlp, wire
from staf.nn.models.sinusoidal import finer, incode, siren, staf

__all__ = ["MODELS", "build", "ffn", "finer", "gauss", "incode", "mfn", "pemlp", "siren", "staf", "wire"]

MODELS: dict[str, Callable[..., nn.Module]] = {
    "staf": staf,
    "siren": siren,
    "finer": finer,
    "wire": wire,
    "gauss": gauss,
    "ffn": ffn,
    "pemlp": pemlp,
    "mfn": mfn,
    "incode": incode,
}


def build(
    architecture: Any,
    *,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """The network that `field.architecture` describes, freshly initialised; on the meta device, nothing is allocated.

    The dictionary may come from a file nobody vouches for: names and arguments are looked up in `MODELS` and in the
    factory's signature, checked for type and size, and refused with the reason otherwise.

    >>> field = build({"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "width": 16}}, device="meta")
    >>> field.architecture["arguments"]["omega0"]
    30.0
    """
    factory, arguments = read_architecture(architecture, MODELS)
    return factory(**arguments, generator=generator, device=device, dtype=dtype)
