"""Rows of networks on images: one result for each row, protocol and seed, of one image or of many at once."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.data.sources import Source, open_source, source_data
from paper.measures.interpolation_quality import interpolation_quality
from paper.measures.operations import operations_of
from paper.measures.perceptual import perceptual_distance, predicted_image
from paper.measures.run_costs import forget_peak, inference_seconds, peak_memory
from paper.measures.step_times import clock, smoothed
from paper.report.restored_images import eight_bits
from paper.runner.experiment import Context, Data, Outcome
from paper.study.rows import Length, Row, of_its_size, plan_for
from staf._jsonable import digest
from staf._tables import mean
from staf.comparison.result_file import thin

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.planning import Plan

MEASURES = ("psnr", "ssim", "lpips", "interpolation_psnr", "while_training_psnr")


@dataclass(frozen=True)
class ImageRun:
    """One row on one image, or on several that train together.

    `perceptual` is the weight of LPIPS in the loss, and `planned_for` the kind of device whose plan `ours` is.
    """

    images: tuple[str, ...]
    row: Row
    protocol: str
    length: Length
    seed: int = 0
    perceptual: float = 0.0
    planned_for: str | None = None


@dataclass(frozen=True)
class ImageRuns:
    """The experiment; `sources` maps the names in configurations to images."""

    name: str
    sources: Mapping[str, Source]
    look: Callable[[Fit], Mapping[str, np.ndarray]] | None = None

    version = 1
    protocol = (
        "PSNR, SSIM and LPIPS (AlexNet, v0.1) of the final weights, one fresh pass over all pixels, clamped, peak 1; "
        "between pixels: PSNR in dB of twice the size against the bicubic enlargement; PSNR while training: what the "
        "released notebooks print, outputs gathered while the weights change, the best epoch, not clamped; paper and "
        "released: Adam with the constants and rate of each network's authors, samples "
        "at the ends; ours: default plan of as many steps; images that train together share a plan by their size"
    )

    def label(self, configuration: ImageRun) -> str:
        c = configuration
        what = c.images[0] if len(c.images) == 1 else f"{len(c.images)} images"
        return f"{what} {c.row.name} {c.protocol} seed {c.seed}"

    def data(self, configuration: ImageRun) -> Data:
        found = [source_data(self.sources[name], name) for name in configuration.images]
        if len(found) == 1:
            return found[0]
        return Data(f"{len(found)} images", digest([one.sha256 for one in found]))

    def run(self, configuration: ImageRun, context: Context) -> Outcome:
        c = configuration
        signals = [open_source(self.sources[name], name) for name in c.images]
        alone = len(signals) == 1
        planned = signals[0] if alone else of_its_size(signals[0])
        plan = plan_for(planned, c.row, c.protocol, c.length, c.planned_for or context.device)
        started = time.monotonic()
        fits = _fit(signals, plan, c, context)
        seconds, memory = (time.monotonic() - started) / len(fits), peak_memory(context.device)
        measured = {name: measures(fit) for name, fit in zip(c.images, fits, strict=True)}
        details = {**self._details(fits, plan), "seconds": round(seconds, 4), "memory": memory}
        times = {key: details[key] for key in ("training_seconds", "inference_seconds")}
        measured = {name: {**one, **times} for name, one in measured.items()}
        details["images"] = measured
        metrics = {key: mean([one[key] for one in measured.values() if key in one]) for key in _keys(measured)}
        prediction, target = (eight_bits(picture.cpu().numpy()) for picture in predicted_image(fits[0]))
        arrays = {"restored": prediction, **({} if self.look is None else self.look(fits[0]))}
        truth = source_data(self.sources[c.images[0]], c.images[0]).sha256[:12]
        shared = (context.share(f"image-{truth}", {"truth": target}),)
        return Outcome(metrics, thin(curve(fits[0])), details, arrays, shared)

    def _details(self, fits: Sequence[Fit], plan: Plan) -> dict[str, Any]:
        from paper.measures.network_size import scalars

        fit = fits[0]
        timed = clock(fit.history.seconds)
        architecture: Any = fit.module.architecture
        return {
            "steps": fit.result.steps,
            # Of one of many that train together: their share.
            "training_seconds": round(float(timed.training[-1]) / len(fits), 4) if len(timed.training) else 0.0,
            "together": len(fits),
            "inference_seconds": inference_seconds(fit.module, fit.task.points),
            "parameters": sum(p.numel() for p in fit.module.parameters()),
            "scalars": scalars(architecture),
            "operations": operations_of(fit.module),
            "architecture": architecture,
            "recipe": fit.recipe.to_plain(),
            "reasons": list(plan.reasons.values()),
            "diverged": [fit.stopped for fit in fits if fit.stopped.startswith("diverged")],
        }


def _fit(signals: Sequence[Any], plan: Plan, run: ImageRun, context: Context) -> list[Fit]:
    forget_peak(context.device)
    if run.perceptual:
        from paper.measures.perceptual import lpips_model
        from staf.tasks import PerceptualReconstruction

        model = lpips_model(context.device)
        if model is None:
            raise ValueError("LPIPS in the loss needs its weights: run `python -m staf.metrics.lpips_convert` once")
        # LPIPS compares whole images; the default of a CPU has mini-batches.
        plan = dataclasses.replace(plan, recipe=plan.recipe.replace(batch=None))
        tasks = [PerceptualReconstruction(s, model, run.perceptual, plan.recipe.convention) for s in signals]
        return [context.fit(task, plan=plan, seed=run.seed) for task in tasks]
    if len(signals) == 1:
        return [context.fit(signals[0], plan=plan, seed=run.seed)]
    from staf.many.fitting import fit_many

    done = fit_many(signals, plan=plan, seed=run.seed, device=context.device, progress=False)
    return list(done)


def measures(fit: Fit) -> dict[str, float]:
    """The measures of one fit by name."""
    perceptual = perceptual_distance(*predicted_image(fit))
    found = {**fit.metrics, **perceptual, **interpolation_quality(fit), **while_training(fit)}
    return {name: round(float(value), 6) for name, value in found.items() if name in MEASURES}


def while_training(fit: Fit) -> dict[str, float]:
    """The best epoch of outputs that were gathered while the weights changed, as the released notebooks report it."""
    points = fit.task.points
    losses = smoothed(fit.history.loss, math.ceil(points / fit.recipe.batch_size(points)))
    finite = [value for value in losses.tolist() if math.isfinite(value) and value > 0]
    return {"while_training_psnr": -10 * math.log10(min(finite))} if finite else {}


def curve(fit: Fit) -> dict[str, list[Any]]:
    """Columns step, iteration (an epoch, where there are mini-batches), loss over an epoch, seconds of training."""
    points = fit.task.points
    window = math.ceil(points / fit.recipe.batch_size(points))
    steps = list(fit.history.step)
    return {
        "step": steps,
        "iteration": [(step + 1) / window for step in steps],
        "loss": smoothed(fit.history.loss, window).tolist(),
        "seconds": [round(float(value), 5) for value in clock(fit.history.seconds).training],
    }


def _keys(measured: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [key for key in MEASURES if any(key in one for one in measured.values())]


@dataclass(frozen=True)
class Grid:
    """Every row under every protocol with every seed, on each image apart or on all of them together."""

    rows: Sequence[Row]
    protocols: Sequence[str]
    seeds: Sequence[int]
    length: Length
    together: bool = False
    perceptual: Mapping[str, float] = field(default_factory=dict)
    planned_for: str | None = None

    def runs(self, images: Sequence[str]) -> list[ImageRun]:
        """The configurations; networks by name in `perceptual` have that weight of LPIPS in their loss."""
        groups = [tuple(images)] if self.together else [(name,) for name in images]
        return [
            ImageRun(group, row, protocol, self.length, seed, self.perceptual.get(row.name, 0.0), self.planned_for)
            for row in self.rows
            for protocol in self.protocols
            if protocol in row.protocols
            for group in groups
            for seed in self.seeds
        ]
