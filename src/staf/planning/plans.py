"""Plans: what to train and how, for a signal and a budget, with the reasons in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from staf.nn import models
from staf.nn._arguments import did_you_mean
from staf.planning import recipes
from staf.planning.budget import Budget
from staf.planning.rates import (
    AUDIO_FACTORS,
    AUDIO_SOAP_RATES,
    MINI_BATCH_FACTOR,
    OMEGA0_FACTORS,
    RATES,
    SHORT_RATES,
    SMALL_POINTS,
    SMALL_RATES,
    SMALL_STEPS,
    SOAP_POINTS,
    SOAP_RATES,
    SOAP_SECONDS,
    SOAP_STEPS,
    WIRE,
)
from staf.planning.shape_plans import GPU_BATCH, shape_field, shape_of
from staf.planning.shape_plans import OMEGA0 as SHAPE_OMEGA0
from staf.planning.spectrum import CYCLES, MINI_BATCH_CYCLES, first_hertz, image_omega0
from staf.planning.words import (
    activations_in_words,
    batch_in_words,
    budget_in_words,
    count,
    optimiser_in_words,
    why_other,
)
from staf.training.recipe import Recipe


class SignalLike(Protocol):
    """What a plan looks at: a signal or a task."""

    in_features: int
    out_features: int


FieldFactory = Callable[[torch.Generator], nn.Module]


@dataclass(frozen=True)
class Plan:
    """A field to build from a generator, the recipe to train it by, and why.

    >>> from types import SimpleNamespace
    >>> signal = SimpleNamespace(in_features=2, out_features=3, points=65536)
    >>> chosen = plan(signal, Budget(steps=200))
    >>> chosen.recipe.steps, chosen.recipe.optimiser
    (200, 'muon')
    """

    field_factory: FieldFactory
    recipe: Recipe
    reasons: list[str] = field(default_factory=list)
    name: str = "default"

    def field(self, seed: int = 0) -> nn.Module:
        """Build the field; the same seed gives the same weights."""
        return self.field_factory(torch.Generator().manual_seed(seed))


def points_of(signal: Any) -> int:
    """How many samples a signal or task has."""
    points = getattr(signal, "points", None)
    if points is None:
        points = 1
        for size in signal.shape:
            points *= size
    return int(points)


def general_recipe(
    signal: SignalLike, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf"
) -> Recipe:
    """Batch, budget, Muon and Adam at the model's rate: the recipe for a network of the user's own, too.

    It has none of the constants that were found for networks of 256 neurons on pictures of one size.
    """
    budget = budget or Budget()
    points, on_cpu = points_of(signal), device == "cpu"
    largest = 8192 if on_cpu else GPU_BATCH if shape_of(signal) is not None else points
    batch = largest if points > largest else None
    steps = budget.steps
    if steps is None and budget.seconds is None:
        steps = 1000 if not on_cpu else 600
    factor = MINI_BATCH_FACTOR
    if batch is None:
        factor = AUDIO_FACTORS.get(model, 1.0) if _recording(signal) is not None else 1.0
    rate = RATES[model] * factor
    recipe = recipes.default(steps=steps or 1, batch=batch).replace(rate=rate, matrix_rate=rate)
    return recipe.replace(steps=steps, seconds=budget.seconds, target_db=budget.target_db)


def plan(signal: SignalLike, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan: the model `model` with our recipe, sized to the budget.

    On a GPU every step sees the whole signal, or 262,144 voxels of a shape. On a CPU a step sees at most 8,192 points,
    because many cheap steps gain more per second than a few expensive ones.
    """
    budget = budget or Budget()
    if model not in models.MODELS:
        raise ValueError(f"there is no model {model!r}; {did_you_mean(model, models.MODELS)}")
    points, shape, recording = points_of(signal), shape_of(signal), _recording(signal)
    recipe = general_recipe(signal, budget, device=device, model=model)
    batch, steps, rate = recipe.batch, recipe.steps, recipe.rate
    full_batch_factor = AUDIO_FACTORS.get(model, 1.0) if recording is not None else 1.0
    whose = "this model's own"
    large_picture = batch is None and signal.in_features == 2 and points >= SOAP_POINTS
    whole = large_picture or (batch is None and recording is not None)
    if steps is not None:
        long = steps >= SOAP_STEPS
    else:
        long = device != "cpu" and budget.seconds is not None and budget.seconds >= SOAP_SECONDS * points
    if whole and long:
        ours = recipes.full_batch()
        full_batch_factor = 1.0
        rate = (SOAP_RATES if recording is None else AUDIO_SOAP_RATES)[model]
        recipe = recipe.replace(
            optimiser=ours.optimiser,
            schedule=ours.schedule,
            amplitude_rate=ours.amplitude_rate,
            frequency_rate=ours.frequency_rate,
            phase_rate=ours.phase_rate,
        )
    elif large_picture and model in SHORT_RATES:
        rate, whose = SHORT_RATES[model], "for few steps"
    small = batch is None and signal.in_features == 2 and points <= SMALL_POINTS and model in SMALL_RATES
    if small:
        rate = SMALL_RATES[model][steps is not None and steps >= SMALL_STEPS]
        whose = "small, so that few pixels do not become noise between them"
    recipe = recipe.replace(rate=rate, matrix_rate=rate)
    layers = "4 activated layers of 181 complex neurons" if model == "wire" else "4 activated layers of 256"
    inputs, outputs = count(signal.in_features, "coordinate"), count(signal.out_features, "value")
    reasons = [f"model {model}: {inputs} to {outputs}, {layers}"]

    arguments: dict[str, float] = {}
    if model == "wire":
        arguments = dict(WIRE)
        reasons.append(f"omega0 and sigma0 {WIRE['sigma0']:g}: with less sigma0 values would grow from layer to layer")
    found = image_omega0(signal) if model in OMEGA0_FACTORS else None
    if found is not None:
        omega0, why = round(found[0] * OMEGA0_FACTORS[model], 1), found[1]
        arguments["omega0"] = omega0
        reasons.append(f"omega0 {omega0:g} in the first layer, from the spectrum: {why}")
    if shape is not None and model == "staf":
        reasons.append(f"omega0 {SHAPE_OMEGA0:g} in the first layer, the paper's for shapes")
    hertz = 0.0
    if recording is not None:
        from staf.planning.audio_plans import audio_reason

        cycles = CYCLES if batch is None else MINI_BATCH_CYCLES
        hertz, why = first_hertz(recording, recording.seconds, cycles)
        reasons.append(audio_reason(recording, model, hertz, why))
    if model == "staf":
        reasons.append("the activation starts at SIREN's sine, with four weaker terms spread evenly below omega0")
        reasons.append(activations_in_words(recipe))
    reasons.append(optimiser_in_words(recipe, complex_weights=model == "wire"))
    reasons.append(f"learning rates of {rate:g}, {whose}" + why_other(batch is not None, full_batch_factor))
    reasons.append(batch_in_words(recipe, points))
    reasons += budget_in_words(budget, recipe)

    def factory(generator: torch.Generator) -> nn.Module:
        if shape is not None:
            return shape_field(model, shape, generator)
        if recording is not None:
            from staf.planning.audio_plans import audio_field

            return audio_field(model, recording, generator, hertz=hertz)
        return models.MODELS[model](signal.in_features, signal.out_features, generator=generator, **arguments)

    return Plan(factory, recipe, reasons)


def for_own_network(signal: SignalLike, budget: Budget | None = None, *, device: str = "cpu") -> Plan:
    """The plan of a fit whose network is given: the general recipe, with its reasons."""
    recipe = general_recipe(signal, budget, device=device)
    reasons = [
        optimiser_in_words(recipe, complex_weights=False),
        f"learning rates of {recipe.rate:g}" + why_other(recipe.batch is not None, 1.0),
        batch_in_words(recipe, points_of(signal)),
        *budget_in_words(budget or Budget(), recipe),
    ]
    return Plan(plan(signal, budget, device=device).field_factory, recipe, reasons, "own network")


def _recording(signal: Any) -> Any:
    """The recording behind a signal or a task, or None."""
    signal = getattr(signal, "signal", signal)
    return signal if getattr(signal, "kind", None) == "audio" else None


def paper_staf_image(signal: SignalLike) -> Plan:
    """The image network and recipe as the paper states them: Theorem 3.1's law, torch's weights, omega0 30."""
    return _paper(signal, recipes.paper_image(), "paper_staf_image", omega0=30.0, hidden_omega0=30.0, law="theorem")


def released_staf_image(signal: SignalLike) -> Plan:
    """The image network as the authors' code builds it: Laplace scale 1/(2 tau), skips, omega0 60 then 30."""
    return _paper(
        signal,
        recipes.paper_image(),
        "released_staf_image",
        omega0=60.0,
        hidden_omega0=30.0,
        law="released",
        skip=True,
    )


def paper_staf_audio(signal: SignalLike) -> Plan:
    """The paper's audio network: omega0 3000 in the first layer, 30 in the others."""
    return _paper(signal, recipes.paper_audio(), "paper_staf_audio", omega0=3000.0, hidden_omega0=30.0, law="theorem")


def released_staf_audio(signal: SignalLike) -> Plan:
    """The audio network with the released code's amplitude law."""
    return _paper(
        signal, recipes.paper_audio(), "released_staf_audio", omega0=3000.0, hidden_omega0=30.0, law="released"
    )


def paper_staf_shape(signal: SignalLike) -> Plan:
    """The paper's occupancy network: omega0 30 throughout."""
    return _paper(signal, recipes.paper_shape(), "paper_staf_shape", omega0=30.0, hidden_omega0=30.0, law="theorem")


def released_staf_shape(signal: SignalLike) -> Plan:
    """The occupancy network with the released code's amplitude law."""
    return _paper(signal, recipes.paper_shape(), "released_staf_shape", omega0=30.0, hidden_omega0=30.0, law="released")


def paper_staf_super_resolution(signal: SignalLike) -> Plan:
    """The paper's super-resolution network: omega0 30 throughout."""
    return _paper(
        signal,
        recipes.paper_super_resolution(),
        "paper_staf_super_resolution",
        omega0=30.0,
        hidden_omega0=30.0,
        law="theorem",
    )


def released_staf_super_resolution(signal: SignalLike) -> Plan:
    """The super-resolution network with the released code's amplitude law."""
    recipe = recipes.paper_super_resolution()
    return _paper(signal, recipe, "released_staf_super_resolution", omega0=30.0, hidden_omega0=30.0, law="released")


def paper_staf_denoising(signal: SignalLike) -> Plan:
    """The paper's denoising network: two terms, omega0 5."""
    return _paper(
        signal,
        recipes.paper_denoising(),
        "paper_staf_denoising",
        terms=2,
        omega0=5.0,
        hidden_omega0=5.0,
        law="theorem",
    )


def released_staf_denoising(signal: SignalLike) -> Plan:
    """The denoising network with the released code's amplitude law and rate."""
    constants = {"terms": 2, "omega0": 5.0, "hidden_omega0": 5.0, "law": "released"}
    return _paper(signal, recipes.released_denoising(), "released_staf_denoising", **constants)


def _paper(signal: SignalLike, recipe: Recipe, name: str, **arguments: Any) -> Plan:
    arguments.setdefault("terms", 5)
    reasons = [
        f"{name}: the published constants, kept as they are",
        ", ".join(f"{key}={value}" for key, value in arguments.items()),
    ]

    def factory(generator: torch.Generator) -> nn.Module:
        return models.staf(signal.in_features, signal.out_features, weights="torch", generator=generator, **arguments)

    return Plan(factory, recipe, reasons, name)
