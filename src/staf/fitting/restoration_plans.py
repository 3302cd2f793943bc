"""What super-resolution and denoising ask of each network: slower sines, so that it does not follow all it sees."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from ..nn import models
from .plans import Budget, Plan
from .plans import plan as make_plan

SINES = ("staf", "siren", "finer", "incode")
# The first omega0 for each pixel along the longest observed side, and that of the hidden layers. kodim03 at 256x256,
# seen at 64x64, width 128, 200 steps: 10 and 10 give 29.9 dB, 10 and 30 29.6, 20 and 10 29.3, 30 and 30 28.2, 60 and
# 30 25.4; Lanczos gives 29.3. At half the size 3 to 5 is as good as 10 is there.
SUPER_RESOLUTION_PER_PIXEL = 0.15
SUPER_RESOLUTION_HIDDEN = 10.0
# Two terms as the paper, and twice its omega0. kodim03 at 128x128, ten photons, width 128, 150 steps, stopped by
# held-out pixels: omega0 5 gives 24.2 dB, 10 25.8, 20 24.6; with readout noise 2 23.7, 24.0, 23.6. Five terms: 25.6
# and 24.0.
DENOISING_OMEGA0 = 10.0
DENOISING_TERMS = 2


def super_resolution(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `SuperResolution` task; on a CPU a batch has as many points as for an image, not pixels.

    >>> from types import SimpleNamespace
    >>> seen = SimpleNamespace(shape=(256, 256))
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536, samples=4, observed=seen)
    >>> chosen = super_resolution(task, Budget(steps=1))
    >>> chosen.recipe.batch, chosen.field(0).architecture["arguments"]["omega0"]
    (512, 38.4)
    """
    omega0 = max(1.0, SUPER_RESOLUTION_PER_PIXEL * max(task.observed.shape))
    arguments = {"omega0": round(omega0, 3), "hidden_omega0": SUPER_RESOLUTION_HIDDEN}
    chosen = _adapted(task, budget, device, model, arguments)
    batch = chosen.recipe.batch
    if batch is None or task.samples == 1:
        return chosen
    fewer = max(1, batch // task.samples**2)
    reasons = [reason for reason in chosen.reasons if not reason.startswith("steps of ")]
    reasons.append(f"steps of {fewer:,} of the {task.points:,} pixels, each seen through {task.samples**2} points")
    return dataclasses.replace(chosen, recipe=chosen.recipe.replace(batch=fewer), reasons=reasons)


def denoising(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `Denoising` task.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536)
    >>> denoising(task).field(0).architecture["arguments"]["terms"]
    2
    """
    arguments: dict[str, Any] = {"omega0": DENOISING_OMEGA0, "hidden_omega0": DENOISING_OMEGA0}
    if model == "staf":
        arguments["terms"] = DENOISING_TERMS
    return _adapted(task, budget, device, model, arguments)


def _adapted(task: Any, budget: Budget | None, device: str, model: str, arguments: dict[str, Any]) -> Plan:
    """The default plan with other constants for the networks of sines; the others keep their own."""
    base = make_plan(task, budget, device=device, model=model)
    if model not in SINES:
        return base

    def factory(generator: torch.Generator) -> nn.Module:
        return models.MODELS[model](task.in_features, task.out_features, generator=generator, **arguments)

    said = ", ".join(f"{name} {value:g}" for name, value in arguments.items())
    reasons = [reason for reason in base.reasons if not reason.startswith("omega0 ")]
    if "terms" in arguments:
        reasons = [reason for reason in reasons if not reason.startswith("the activation ")]
        reasons.append(f"the activation starts at SIREN's sine, with {arguments['terms'] - 1} weaker below omega0")
    reasons = [*reasons, f"{said}: slow sines, so that the field stays smooth between what is seen"]
    return dataclasses.replace(base, field_factory=factory, reasons=reasons)
