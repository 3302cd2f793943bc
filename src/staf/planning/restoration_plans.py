"""What super-resolution and denoising ask of each network: slower sines, so that it does not follow all it sees."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from staf.nn import models
from staf.planning import recipes
from staf.planning.plans import Budget, Plan
from staf.planning.plans import plan as make_plan
from staf.planning.rates import RATES
from staf.planning.words import activations_in_words

SINES = ("staf", "siren", "finer", "incode")


@dataclass(frozen=True)
class Settings:
    """What a restoration gives to one network: the rate of Adam and Muon, and constants in place of its own.

    `per_pixel` is the first omega0 for each pixel along the longest observed side, at least 1 in all; networks whose
    first layer does not follow the pixels have none.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(observed=SimpleNamespace(shape=(48, 64)))
    >>> Settings(1e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}).arguments(task)
    {'omega0': 9.6, 'hidden_omega0': 5.0}
    """

    rate: float
    per_pixel: float | None = None
    constants: Mapping[str, float] = field(default_factory=dict)

    def arguments(self, task: Any) -> dict[str, Any]:
        """The network's arguments for a task."""
        if self.per_pixel is None:
            return dict(self.constants)
        return {"omega0": round(max(1.0, self.per_pixel * max(task.observed.shape)), 3), **self.constants}


# Full batches. Each network has the best of eight trials of `python -m paper restoration-search` on kodim03
# at 256x256, 300 steps on a GPU (benchmarks/results/restoration-search-*-h200-2026-11-15.csv); STAF's is the first of
# them, found before. Seen at 64x64; STAF after 1,000 steps: hidden 20 gives 29.1 dB, 10 29.5, 5 30.2; 0.1 a pixel 29.8,
# 0.2 29.5, 0.3 29.3; four points a pixel 29.7; Lanczos 29.3.
SUPER_RESOLUTION: dict[str, Settings] = {
    "staf": Settings(3e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}),
    "siren": Settings(3.05e-4, per_pixel=0.205, constants={"hidden_omega0": 24.7}),
    "finer": Settings(1e-3, per_pixel=0.0585, constants={"hidden_omega0": 3.57}),
    "incode": Settings(1e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}),
    "wire": Settings(9.84e-3, constants={"omega0": 3.28, "hidden_omega0": 3.28, "sigma0": 4.02}),
    "gauss": Settings(4.57e-4, constants={"sigma": 5.7}),
    "ffn": Settings(1e-2, constants={"scale": 1.21}),
    "pemlp": Settings(1e-2, constants={"bands": 2}),
    "mfn": Settings(3.05e-3, constants={"input_scale": 74.2}),
}
# Ten photons, stopped by held-out pixels; two terms as the paper. What was found for STAF before: omega0 20 and 10 in
# the hidden layers give 24.3 dB, 10 and 10 24.9, 10 and 5 26.5, 5 and 5 27.7; at half the rate 7 and 5 27.8, and then
# the last step is the best one, while at the full rate the noise is learnt soon after it.
DENOISING: dict[str, Settings] = {
    "staf": Settings(1.5e-3, constants={"omega0": 7.0, "hidden_omega0": 5.0, "terms": 2}),
    "siren": Settings(1.64e-3, constants={"omega0": 3.74, "hidden_omega0": 7.75}),
    "finer": Settings(7.43e-4, constants={"omega0": 5.11, "hidden_omega0": 16.8}),
    "incode": Settings(1.52e-4, constants={"omega0": 9.58, "hidden_omega0": 24.7}),
    "wire": Settings(4.92e-3, constants={"omega0": 3.28, "hidden_omega0": 3.28, "sigma0": 4.02}),
    "gauss": Settings(2.29e-4, constants={"sigma": 5.7}),
    "ffn": Settings(5e-3, constants={"scale": 1.21}),
    "pemlp": Settings(5e-3, constants={"bands": 2}),
    "mfn": Settings(1.52e-3, constants={"input_scale": 74.2}),
}
# Mini-batches, whose rates are halved already; constants for the networks of sines. They follow the noise less, and can
# be faster: the astronaut at 256x256, 300 steps of 8,192 pixels on a CPU, 10 and 10 give 23.6 dB, 7 and 5 22.2.
SUPER_RESOLUTION_PER_PIXEL = 0.15
SUPER_RESOLUTION_HIDDEN = 5.0
DENOISING_MINI_BATCHES = {"omega0": 10.0, "hidden_omega0": 10.0}
DENOISING_TERMS = 2
SMOOTH = ", so that the field stays smooth between what is seen"
# A restoration is not the better for following all it sees: 3,000 steps give 29.0 dB where 300 give 30.2 (as above,
# super-resolution with hidden 10).
STEPS = 300
# Of mini-batches, so many steps that each pixel is seen as often as in a smaller picture. 512x512 train_00 seen at
# 128x128, 2,048 pixels a step: 600 steps end at 22.6 dB, 1,200 at 22.8; Lanczos has 22.7. The same at 512x512 with ten
# photons, 8,192 pixels a step: 300 steps end at 21.5 dB, 1,200 at 22.6.
SUPER_RESOLUTION_EPOCHS = 150
DENOISING_EPOCHS = 37.5
MOST_STEPS = 4800


def super_resolution(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `SuperResolution` task; on a CPU a batch has as many points as for an image, not pixels.

    >>> from types import SimpleNamespace
    >>> seen = SimpleNamespace(shape=(256, 256))
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536, samples=4, observed=seen)
    >>> chosen = super_resolution(task, Budget(steps=1))
    >>> chosen.recipe.batch, chosen.field(0).architecture["arguments"]["omega0"]
    (512, 38.4)
    """
    base = _base(task, budget, device, model)
    batch = base.recipe.batch
    if batch is None:
        return with_settings(base, task, model, SUPER_RESOLUTION[model])
    slow = Settings(base.recipe.rate, SUPER_RESOLUTION_PER_PIXEL, {"hidden_omega0": SUPER_RESOLUTION_HIDDEN})
    chosen = _adapted(base, task, model, slow.arguments(task) if model in SINES else {})
    if task.samples == 1:
        return _long_enough(chosen, task, budget, SUPER_RESOLUTION_EPOCHS)
    fewer = max(1, batch // task.samples**2)
    reasons = [reason for reason in chosen.reasons if not reason.startswith("steps of ")]
    reasons.append(f"steps of {fewer:,} of the {task.points:,} pixels, each seen through {task.samples**2} points")
    chosen = dataclasses.replace(chosen, recipe=chosen.recipe.replace(batch=fewer), reasons=reasons)
    return _long_enough(chosen, task, budget, SUPER_RESOLUTION_EPOCHS)


def denoising(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `Denoising` task.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536)
    >>> denoising(task).field(0).architecture["arguments"]["terms"]
    2
    """
    base = _base(task, budget, device, model)
    if base.recipe.batch is None:
        return with_settings(base, task, model, DENOISING[model])
    arguments: dict[str, Any] = dict(DENOISING_MINI_BATCHES) if model in SINES else {}
    if model == "staf":
        arguments["terms"] = DENOISING_TERMS
    return _long_enough(_adapted(base, task, model, arguments), task, budget, DENOISING_EPOCHS)


def with_settings(chosen: Plan, task: Any, model: str, settings: Settings) -> Plan:
    """A plan of full batches with other settings than its table's: what a search tries is what the tables can hold.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=4096)
    >>> other = with_settings(denoising(task, model="gauss"), task, "gauss", Settings(2e-3, constants={"sigma": 3.0}))
    >>> other.recipe.rate, other.field(0).architecture["arguments"]["sigma"]
    (0.002, 3.0)
    """
    return _with_muon(_adapted(chosen, task, model, settings.arguments(task)), model, settings.rate)


def _base(task: Any, budget: Budget | None, device: str, model: str) -> Plan:
    """The default plan, of few steps where the budget leaves it open."""
    budget = budget or Budget()
    if budget.steps is not None or budget.seconds is not None:
        return make_plan(task, budget, device=device, model=model)
    base = make_plan(task, dataclasses.replace(budget, steps=STEPS), device=device, model=model)
    reasons = [reason for reason in base.reasons if not reason.endswith(", as asked")]
    reasons.append(f"no budget was given: {STEPS} steps, since more follow what is seen too closely")
    return dataclasses.replace(base, reasons=reasons)


def _long_enough(chosen: Plan, task: Any, budget: Budget | None, epochs: float) -> Plan:
    """The plan of mini-batches with more steps for a larger picture, where the budget leaves them open."""
    assert chosen.recipe.batch is not None
    wanted = round(epochs * task.points / chosen.recipe.batch)
    steps = min(max(STEPS, wanted), MOST_STEPS)
    if (budget is not None and (budget.steps is not None or budget.seconds is not None)) or steps == STEPS:
        return chosen
    reasons = [reason for reason in chosen.reasons if not reason.startswith("no budget was given")]
    seen = steps * chosen.recipe.batch / task.points
    why = f"no budget was given: {steps:,} steps, which see each pixel {seen:.0f} times"
    if wanted > steps:
        why += f"; a picture as large as this one gains from more, up to {wanted:,}"
    return dataclasses.replace(chosen, recipe=chosen.recipe.replace(steps=steps), reasons=[*reasons, why])


def _with_muon(chosen: Plan, model: str, rate: float) -> Plan:
    """The plan by Muon, Adam and the schedule that the tables were found with."""
    ours, own = recipes.default(), rate / RATES[model]
    recipe = chosen.recipe.replace(
        optimiser=ours.optimiser,
        schedule=ours.schedule,
        rate=rate,
        matrix_rate=rate,
        amplitude_rate=ours.amplitude_rate,
        frequency_rate=ours.frequency_rate,
        phase_rate=ours.phase_rate,
    )
    others = ("SOAP on ", "Muon on ", "Adam alone", "rates of ", "learning rates of ", "C, Omega and Phi ")
    reasons = [reason for reason in chosen.reasons if not reason.startswith(others)]
    if model == "staf":
        reasons.append(activations_in_words(recipe))
    why = ""
    if own != 1:
        why = "so that what is seen is not followed too closely" if own < 1 else "so that the steps are enough"
        why = f" times {own:.3g}, {why}"
    by = (
        "Adam alone, because the weights are complex"
        if model == "wire"
        else "Muon on the hidden matrices, Adam on the rest"
    )
    said = f"rates of {rate:g}, this model's own{why}"
    return dataclasses.replace(chosen, recipe=recipe, reasons=[*reasons, by, said])


def _adapted(base: Plan, task: Any, model: str, arguments: dict[str, Any]) -> Plan:
    """The plan with other constants of the network, if there are any."""
    if not arguments:
        return base

    def factory(generator: torch.Generator) -> nn.Module:
        return models.MODELS[model](task.in_features, task.out_features, generator=generator, **arguments)

    said = ", ".join(f"{name} {value:g}" for name, value in arguments.items())
    reasons = [reason for reason in base.reasons if not (reason.startswith("omega0 ") or reason.endswith(SMOOTH))]
    if "terms" in arguments:
        reasons = [reason for reason in reasons if not reason.startswith("the activation ")]
        reasons.append(f"the activation starts at SIREN's sine, with {arguments['terms'] - 1} weaker below omega0")
    return dataclasses.replace(base, field_factory=factory, reasons=[*reasons, said + SMOOTH])
