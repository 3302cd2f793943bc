"""Fit several networks to one signal under the same budget; each leaves a result file, so that a comparison resumes.

A finished network is not fitted again while its result file exists. The file's name ends with a hash of the library's
minor version, the signal (its samples, and how it was opened), the network, the seed and the budget.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf import __version__
from staf._jsonable import digest
from staf._machine import provenance
from staf.comparison.progress import SweepProgress
from staf.comparison.result_file import (
    NetworkFailure,
    NetworkResult,
    array_hash,
    read_result,
    write_failure,
    write_result,
)

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.planning import Budget, Plan
    from staf.signals import Signal

PROTOCOL = (
    "each network with its default plan on the device, same budget; PSNR of the final weights, one fresh pass over all "
    "pixels (of a scene: of the held-out views), clamped, peak 1"
)


@dataclass
class Comparison:
    """The networks that finished and those that failed, in the order asked for."""

    results: list[NetworkResult] = field(default_factory=list)
    failures: list[NetworkFailure] = field(default_factory=list)


def compare_networks(
    image: Signal,
    models: Sequence[str],
    budget: Budget,
    folder: Path,
    *,
    device: str,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    """Fit each network with its default plan, one after another, so that each has the whole machine.

    A network that fails is recorded and the others are still fitted. Ctrl-C keeps what is finished, and a checkpoint of
    the network that was being fitted: the same call continues from it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sha256 = array_hash(np.asarray(image))
    # A name may contain bytes that are not text.
    opened = {key: value for key, value in image.metadata().items() if key != "name"}
    paths: dict[str, Path] = {}
    for model in models:
        signal = {"image": sha256, "opened": opened}
        key = digest({"staf": _minor(), **signal, "model": model, "seed": seed, "budget": budget})
        paths[model] = folder / f"{_slug(_label(image, model, seed))}-{key[:12]}.json"
    pending = [model for model in models if not paths[model].exists()]
    bar = SweepProgress(len(models), len(pending), shown=progress)
    for model in pending:
        label, path = _label(image, model, seed), paths[model]
        about = {
            "model": model,
            "image": image.name,
            "sha256": sha256,
            "seed": seed,
            "budget": budget,
            "protocol": PROTOCOL,
            **provenance(device),
        }
        checkpoint = path.with_name(f"{path.stem}.checkpoint.safetensors")
        bar.start(label)
        try:
            fit, plan = fit_network(
                image, model, budget, device=device, seed=seed, checkpoint=checkpoint, progress=progress
            )
            write_result(path, about, fit, plan)
            checkpoint.unlink(missing_ok=True)
        except Exception as error:
            write_failure(path, about, f"{type(error).__name__}: {error}", traceback.format_exc())
        outcome = read_result(path)
        if isinstance(outcome, NetworkFailure):
            bar.finish(label, {}, failure=outcome.summary)
        else:
            bar.finish(label, outcome.metrics)
    outcomes = [read_result(paths[model]) for model in models]
    return Comparison(
        [outcome for outcome in outcomes if isinstance(outcome, NetworkResult)],
        [outcome for outcome in outcomes if isinstance(outcome, NetworkFailure)],
    )


def fit_network(
    image: Signal, model: str, budget: Budget, *, device: str, seed: int, checkpoint: Path, progress: bool
) -> tuple[Fit, Plan]:
    """One network by its default plan for the budget, resumed from its checkpoint if there is one."""
    from staf.planning import plan

    chosen = plan(image, budget, device=device.split(":")[0], model=model)
    return fit_or_resume(image, checkpoint, plan=chosen, seed=seed, device=device, progress=progress), chosen


def fit_or_resume(source: Any, checkpoint: Path, **arguments: Any) -> Fit:
    """`staf.fit` with a checkpoint file, resumed from it if it exists and can be used."""
    from staf.api import fit
    from staf.storage import FileError

    if checkpoint.exists():
        try:
            return fit(source, **arguments, checkpoint=checkpoint, resume=checkpoint)
        except FileError:
            # A checkpoint of other code or data cannot be used, and the fit can be made without it.
            checkpoint.unlink()
    return fit(source, **arguments, checkpoint=checkpoint)


def _minor() -> str:
    return ".".join(__version__.split(".")[:2])


def _label(image: Signal, model: str, seed: int) -> str:
    return f"{image.name} {model} seed {seed}"


def _slug(label: str) -> str:
    return re.sub(r"[^\w.=+-]+", "-", label).strip("-.")[:80]
