"""One fit of a plan variant, which searches, ablations and tables share, and the time that a step of it takes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from paper.measures.interpolation_quality import interpolation_quality
from paper.measures.perceptual import perceptual_distance, predicted_image
from paper.measures.step_times import clock, timed_outcome
from paper.protocols.plan_variants import PlanVariant, plan_of
from paper.runner.experiment import Context, Outcome
from staf._jsonable import canonical

# A graph keeps its memory until it is collected; beyond this share of the device, runs collect after themselves.
CROWDED = 0.5
# Seconds of a step by variant, size, device and steps: measured once in a process.
_measured: dict[str, float] = {}


def run_variant(
    signal: Any, variant: PlanVariant, context: Context, *, steps: int, seed: int, **details: Any
) -> Outcome:
    """Fit `signal` by a variant's plan; `details` go into the outcome."""
    from paper.measures.network_size import scalars

    plan = plan_of(signal, variant, steps, context.device)
    fit = context.fit(signal, plan=plan, seed=seed)
    architecture: Any = fit.module.architecture
    outcome = timed_outcome(
        fit, fit.task.points, scalars=scalars(architecture), architecture=architecture, plan=plan.name, **details
    )
    more = {**interpolation_quality(fit), **_perceptual(fit)}
    outcome = dataclasses.replace(outcome, metrics={**outcome.metrics, **more})
    free_memory(context.device)
    return outcome


def _perceptual(fit: Any) -> dict[str, float]:
    """LPIPS of an image where its weights are at hand."""
    if getattr(fit.signal, "kind", None) != "image":
        return {}
    return perceptual_distance(*predicted_image(fit))


def step_seconds(signal: Any, variant: PlanVariant, device: str, steps: int, of: int) -> float:
    """Seconds of one step of a fit of `of` steps, from a short one of `steps` whose start is not counted.

    The short one has the recipe of the long one: plans for few steps have other optimisers.
    """
    key = canonical({"variant": variant, "points": math.prod(signal.shape), "device": device, "of": of})
    if key not in _measured:
        from staf.api import fit

        plan = plan_of(signal, variant, of, device)
        plan = dataclasses.replace(plan, recipe=plan.recipe.replace(steps=steps))
        _measured[key] = clock(fit(signal, plan=plan, device=device, progress=False).history.seconds).step
    return _measured[key]


def free_memory(device: str) -> None:
    """Free the device memory of finished fits if little is left."""
    if not device.startswith("cuda"):
        return
    import gc

    import torch

    if torch.cuda.memory_reserved(device) > CROWDED * torch.cuda.get_device_properties(device).total_memory:
        gc.collect()
        torch.cuda.empty_cache()
