"""One fit of a choice: the run that searches, ablations and tables share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from staf.experiments.between import between_pixels
from staf.experiments.choices import Choice, plan_of
from staf.experiments.experiment import Context, Outcome
from staf.experiments.step_times import timed_outcome

# A graph keeps its memory until it is collected; beyond this share of the device, runs collect after themselves.
CROWDED = 0.5


def run_choice(signal: Any, choice: Choice, context: Context, *, steps: int, seed: int, **details: Any) -> Outcome:
    """Fit `signal` by a choice's plan; `details` go into the outcome."""
    from staf.experiments.network_size import scalars

    plan = plan_of(signal, choice, steps, context.device)
    fit = context.fit(signal, plan=plan, seed=seed)
    architecture: Any = fit.module.architecture
    outcome = timed_outcome(
        fit, fit.task.points, scalars=scalars(architecture), architecture=architecture, plan=plan.name, **details
    )
    outcome = replace(outcome, metrics={**outcome.metrics, **between_pixels(fit)})
    make_room(context.device)
    return outcome


def make_room(device: str) -> None:
    """Give back the device memory of fits that are over, where it has become scarce."""
    if not device.startswith("cuda"):
        return
    import gc

    import torch

    if torch.cuda.memory_reserved(device) > CROWDED * torch.cuda.get_device_properties(device).total_memory:
        gc.collect()
        torch.cuda.empty_cache()
