"""What experiments that restore a picture share: a run by a network, a run by a classical method, and their options."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.measures.perceptual import seen_measures
from paper.protocols.published import MODELS
from paper.report.restored_images import eight_bits
from paper.runner.experiment import Context, Outcome, outcome_of
from paper.runner.options import add_models, add_planned_for, add_protocols, add_seeds, count

if TYPE_CHECKING:
    from torch import Tensor

    from staf.planning import Plan

# How often a fit is compared with the truth, or with what is held out.
LOOKS = 100


def by_network(
    task: Any, plan: Plan, configuration: Any, context: Context, *, held_out: bool, shared: tuple[str, ...] = ()
) -> Outcome:
    """Fit the task; `held_out` keeps the weights that predict what is held out, otherwise the last ones are kept.

    The best step by the truth is reported beside it, as an oracle's.
    """
    from staf.tasks import KeepBestHeldOut, Oracle

    every = max(1, (plan.recipe.total_steps(task.points) or 1000) // LOOKS)
    oracle = Oracle(task, every=every)
    keep = KeepBestHeldOut(task, every=every) if held_out else None
    steps = {} if configuration.steps is None else {"steps": configuration.steps}
    watching: list[Any] = [oracle] if keep is None else [keep, oracle]
    fit = context.fit(task, plan=plan, seed=configuration.seed, callbacks=watching, **steps)
    restored = task.predict(fit.module).cpu()
    details = {
        "reasons": list(plan.reasons.values()),
        "oracle_step": oracle.step,
        "final_psnr": oracle.seen[-1][1] if oracle.seen else None,
        **({} if keep is None else {"kept_step": keep.best_step}),
    }
    arrays = {"restored": _picture(task, restored)}
    outcome = outcome_of(fit, points=math.prod(task.signal.shape), details=details, arrays=arrays, shared=shared)
    metrics = {**outcome.metrics, **seen_measures(task, restored), "oracle_psnr": oracle.psnr}
    return dataclasses.replace(outcome, metrics=metrics)


def by_method(
    task: Any, values: Tensor, seconds: float, *, best: Tensor | None = None, shared: tuple[str, ...] = ()
) -> Outcome:
    """What a method without a network gave in so many seconds, and `best`, what it gives at its best by the truth."""
    from staf.tasks.classical import measured

    metrics = {**measured(task, values), **seen_measures(task, values)}
    if best is not None:
        metrics["oracle_psnr"] = measured(task, best)["psnr"]
    return Outcome(
        metrics, details={"seconds": seconds, "steps": 0}, arrays={"restored": _picture(task, values)}, shared=shared
    )


def add_restoration_arguments(
    parser: argparse.ArgumentParser, classical: Sequence[str], protocols: Sequence[str], default: Sequence[str]
) -> None:
    """The options that all of them have."""
    parser.add_argument("--images", nargs="+", default=[], metavar="PATH", help="image files, .npy, or folders")
    add_models(parser, MODELS, nargs="*")
    names = f"methods without a network, of: {', '.join(classical)}"
    parser.add_argument(
        "--classical", nargs="*", default=list(classical), choices=classical, metavar="NAME", help=names
    )
    add_protocols(parser, protocols, default)
    add_seeds(parser)
    parser.add_argument("--steps", type=count, metavar="N", help="steps of each fit")
    add_planned_for(parser)


def _picture(task: Any, values: Tensor) -> Any:
    return eight_bits(values.reshape(*task.signal.shape, -1).numpy())
