"""The reasons of a plan, in words."""

from __future__ import annotations

from staf.planning.budget import Budget
from staf.training.recipe import Recipe


def optimiser_in_words(recipe: Recipe, *, complex_weights: bool) -> str:
    """Which optimiser trains what."""
    if recipe.optimiser == "adam":
        return "Adam on all weights"
    if recipe.optimiser == "soap":
        return "SOAP on the matrices, Adam on the rest: worth more than any choice of activation"
    if complex_weights:
        return "Adam alone, because the weights are complex"
    return "Muon on the hidden matrices, Adam on the rest: worth more than any choice of activation"


def activations_in_words(recipe: Recipe) -> str:
    """How fast a sine series learns.

    >>> from .recipes import default
    >>> activations_in_words(default())
    'C, Omega and Phi learn 3, 3 and 3 times as fast as the other weights'
    """
    c, omega, phi = (f"{rate:g}" for rate in (recipe.amplitude_rate, recipe.frequency_rate, recipe.phase_rate))
    return f"C, Omega and Phi learn {c}, {omega} and {phi} times as fast as the other weights"


def batch_in_words(recipe: Recipe, points: int) -> str:
    """What one step sees."""
    if recipe.batch is None:
        return f"every step sees all {points:,} points"
    return f"steps of {recipe.batch:,} of the {points:,} points: many cheap steps gain more per second"


def budget_in_words(budget: Budget, recipe: Recipe) -> list[str]:
    """What ends the fit."""
    steps = "" if recipe.steps is None else count(recipe.steps, "step")
    seconds = "" if recipe.seconds is None else f"{recipe.seconds:g} second{'s' if recipe.seconds != 1 else ''}"
    if steps and seconds:
        said = [f"{steps} or {seconds} of training, whichever comes first"]
    elif seconds:
        said = [f"the schedule runs over {seconds} of training; measuring and writing come after"]
    elif budget.steps is not None:
        said = [f"{steps}, as asked"]
    elif budget.target_db is not None:
        said = [f"at most {steps}, the default on this device"]
    else:
        said = [f"no budget was given: {steps}, the default on this device"]
    if recipe.target_db is not None:
        said.append(f"the fit ends early at {recipe.target_db:g} dB, confirmed over all points")
    return said


def why_other(mini_batches: bool, full_batch_factor: float) -> str:
    """Why a rate is not the model's own."""
    if mini_batches:
        return ", halved because mini-batches are noisy"
    return "" if full_batch_factor == 1 else f" times {full_batch_factor:g}, because at more it falls to silence"


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "step"), count(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
