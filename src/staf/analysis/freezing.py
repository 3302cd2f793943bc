"""Freeze after warm-up: does training need the sinusoids to move after the first steps?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from staf._documents import Document
from staf.analysis.dynamics import ParameterDynamics
from staf.planning import recipes
from staf.training import Recipe


def freeze_after_warm_up(
    source: Any,
    make_field: Callable[[torch.Generator], nn.Module],
    recipe: Recipe | None = None,
    *,
    freeze_from: int = 200,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool | None = False,
) -> Document:
    """Fit twice from the same start: with everything trained, and with C, Omega and Phi held from step `freeze_from`.

    `recipe` defaults to 500 full-batch steps of the default recipe, so that both are the paper's 200 of 500. Returns
    plain data: `freeze_from`, `steps`, and for each of `full` and `frozen` the `metrics` of the final weights (one
    fresh pass over all points), the training `loss` per step, and `dynamics`, how the sinusoids moved
    (`staf.analysis.Dynamics.from_plain`); `psnr_lost` is full less frozen, in dB.

    >>> import numpy as np, staf
    >>> picture = np.linspace(0, 1, 36, dtype=np.float32).reshape(6, 6)
    >>> make = lambda generator: staf.staf(2, 1, width=8, depth=2, generator=generator)
    >>> found = freeze_after_warm_up(picture, make, staf.Recipe(steps=6), freeze_from=3, device="cpu")
    >>> found["full"]["loss"][:4] == found["frozen"]["loss"][:4], found["full"]["loss"][5] == found["frozen"]["loss"][5]
    (True, False)
    """
    from staf.api import fit

    full = recipe or recipes.default(steps=500)
    if freeze_from < 0:
        raise ValueError(f"freeze_from must not be negative, got {freeze_from}")
    found: Document = {"freeze_from": freeze_from}
    for name, chosen in (
        ("full", full.replace(freeze_activations_from=None)),
        ("frozen", full.replace(freeze_activations_from=freeze_from)),
    ):
        field = make_field(torch.Generator().manual_seed(seed))
        recorder = ParameterDynamics(field)
        done = fit(source, field, chosen, seed=seed, device=device, progress=progress, callbacks=[recorder])
        found["steps"] = done.result.steps
        found[name] = {
            "metrics": dict(done.metrics),
            "loss": list(done.history.loss),
            "dynamics": recorder.result.to_plain(),
        }
    found["psnr_lost"] = found["full"]["metrics"]["psnr"] - found["frozen"]["metrics"]["psnr"]
    return found
