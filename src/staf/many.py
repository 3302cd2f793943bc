"""`fit_many`: hundreds of small networks trained together, streamed to a folder as they finish."""

from __future__ import annotations

import json
import os
import re
import signal as signals
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from staf import __version__
from staf._files import atomic_write
from staf.api import Fit, as_signal, choose_device
from staf.planning.plans import Budget, Plan, points_of
from staf.planning.plans import plan as make_plan
from staf.storage import FileError, read_header
from staf.tasks import Reconstruction
from staf.training import Interrupted, Recipe, train
from staf.training.checkpoint import fingerprint
from staf.training.progress import Progress, choose_mode
from staf.training.stacked import Copies
from staf.training.stepper import is_out_of_memory

INDEX = "index.json"
# Bytes that one point of one network needs in a step of a 4 x 256 network: activations, their gradients, the batch.
BYTES_PER_POINT = 20_000


@dataclass
class ManyFits:
    """The outcome of `fit_many`: fits by name, in the order given, and a sentence for each signal that failed.

    With an output folder the fits are on disk and `fits` holds none of them; `files` says where each is.
    """

    fits: dict[str, Fit] = field(default_factory=dict)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Any:
        return iter(self.fits.values())

    def __getitem__(self, name: str | int) -> Fit:
        return self.fits[name] if isinstance(name, str) else list(self.fits.values())[name]

    @property
    def mean_psnr(self) -> float:
        """Mean PSNR over the finished fits."""
        values = [measures["psnr"] for measures in self.metrics.values()]
        return sum(values) / len(values) if values else float("nan")


def fit_many(
    sources: Iterable[Any],
    recipe: Recipe | None = None,
    *,
    plan: Plan | None = None,
    steps: int | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    at_once: int | None = None,
    progress: bool | None = None,
) -> ManyFits:
    """Fit each signal with a network of its own, many at once; each equals `staf.fit` of it alone by the same plan.

    Every network starts from `seed`, and its plan looks at the size of a signal and not at its spectrum, so the weights
    of a data set are comparable. Full batches by default. Signals that cannot be read are reported in `failures` and
    lose no other. With `out` each finished field is written to `out/fields/NAME.safetensors` and listed in
    `out/index.json`; `resume` skips those already there. `at_once` bounds how many networks train together (by default
    as many as memory holds; halved when memory runs out).

    >>> import numpy as np, staf
    >>> pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 200)]
    >>> fits = staf.fit_many(pictures, steps=2, progress=False)
    >>> len(fits), fits[0].result.steps
    (2, 2)
    """
    chosen = choose_device(device)
    folder = _prepare(out, resume, overwrite)
    done = _finished(folder) if folder is not None and resume else {}
    outcome = ManyFits()
    waiting: list[tuple[str, Any]] = []
    for name, source in _named(sources):
        try:
            signal = as_signal(source)
        except (ValueError, OSError, TypeError) as error:
            outcome.failures[name] = str(error)
            continue
        waiting.append((name, signal))
    if folder is not None:
        waiting = [(name, signal) for name, signal in waiting if not _skip(name, signal, done, outcome, folder)]
    shapes = {(signal.in_features, signal.out_features) for _, signal in waiting}
    mode = choose_mode(progress)
    total = len(waiting)
    finished = 0
    started = time.monotonic()
    with Progress(total, None, mode, title="networks", counted="finished") as bar:
        for features in sorted(shapes):
            alike = [item for item in waiting if (item[1].in_features, item[1].out_features) == features]
            # Neighbours in size pad least.
            alike.sort(key=lambda item: points_of(item[1]))
            while alike:
                signal = alike[0][1]
                use = plan or make_plan(_of_its_size(signal), Budget(steps=steps), device="cuda")
                chosen_recipe = (recipe or use.recipe).replace(**({"steps": steps} if steps else {}))
                count = min(at_once or _capacity(alike, chosen), len(alike))
                group = _same_size(alike[:count], chosen_recipe)
                try:
                    fits = _fit_group(group, use, chosen_recipe, seed, chosen, bar, finished, total, started)
                except Interrupted as stop:
                    raise _interrupted(stop, finished, total, folder) from None
                if fits is None:
                    at_once = max(1, len(group) // 2)
                    bar.say(f"memory ran out: going on with {at_once} networks at once")
                    continue
                finished += len(group)
                alike = alike[len(group) :]
                for (name, _), fit in zip(group, fits, strict=True):
                    _keep(name, fit, outcome, folder)
                if folder is not None:
                    _write_index(folder, outcome, chosen_recipe, seed)
    order = [name for name, _ in waiting]
    outcome.fits = {name: outcome.fits[name] for name in order if name in outcome.fits}
    if folder is not None:
        _write_index(folder, outcome, recipe, seed)
    return outcome


def _fit_group(
    group: list[tuple[str, Any]],
    plan: Plan,
    recipe: Recipe,
    seed: int,
    device: torch.device,
    bar: Progress,
    finished: int,
    total: int,
    started: float,
) -> list[Fit] | None:
    """The fits of one group, or None if memory ran out and a smaller group should be tried."""

    def on_step(step: int, steps: int, loss: float, seconds: float) -> None:
        fraction = (finished + len(group) * step / steps) / total
        bar.update(finished, loss, -10 * torch.tensor(loss).log10().item(), time.monotonic() - started, fraction)

    try:
        tasks = [Reconstruction(signal, recipe.convention).to(device) for _, signal in group]
        results = train(tasks, Copies(plan.field(seed), len(group)), recipe, seed=seed, progress=False)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error) or len(group) == 1:
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return None
    return [Fit(result, task.to("cpu"), plan, str(device)) for result, task in zip(results, tasks, strict=True)]


def _interrupted(stop: Interrupted, finished: int, total: int, folder: Path | None) -> Interrupted:
    """The same signal, with how many fits are done and how to go on."""
    name = "Ctrl-C" if stop.signal_number == signals.SIGINT else "SIGTERM"
    on = (
        "with out=FOLDER finished fits would have been kept"
        if folder is None
        else f"they are in {folder}, and the same call with resume=True does the rest"
    )
    return Interrupted(
        f"stopped by {name} with {finished} of {total} fits done; {on}", None, stop.signal_number, stop.step
    )


def _of_its_size(signal: Any) -> Any:
    """What a plan may see of a signal: all but its samples, so that networks for one size have one architecture."""
    names = ("kind", "in_features", "out_features", "shape", "samples", "rate", "seconds")
    return SimpleNamespace(**{name: getattr(signal, name) for name in names if hasattr(signal, name)})


def _same_size(group: list[tuple[str, Any]], recipe: Recipe) -> list[tuple[str, Any]]:
    """Mini-batches need one size; the full batch pads."""
    if recipe.batch is None:
        return group
    first = points_of(group[0][1])
    return [item for item in group if points_of(item[1]) == first]


def _capacity(items: Sequence[tuple[str, Any]], device: torch.device) -> int:
    """How many networks fit into two thirds of the free memory, judged by the largest signal."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0] * 2 // 3
    else:
        free = 2 * 2**30
    largest = max(points_of(signal) for _, signal in items)
    return int(max(1, min(256, free // (largest * BYTES_PER_POINT))))


def _named(sources: Iterable[Any]) -> list[tuple[str, Any]]:
    """Names safe as file names, each once: the file's stem, the signal's name, or a number."""
    named: list[tuple[str, Any]] = []
    seen: set[str] = set()
    for number, source in enumerate(sources):
        if isinstance(source, (str, os.PathLike)):
            raw = Path(source).stem
        else:
            raw = str(getattr(source, "name", "") or f"signal-{number:05d}")
        stem = re.sub(r"[^\w.-]+", "_", raw).strip("._")[:100] or f"signal-{number:05d}"
        name, again = stem, 1
        while name in seen:
            again += 1
            name = f"{stem}-{again}"
        seen.add(name)
        named.append((name, source))
    return named


def _prepare(out: str | os.PathLike[str] | None, resume: bool, overwrite: bool) -> Path | None:
    if out is None:
        if resume:
            raise ValueError("resume needs out=FOLDER, where the earlier fits are")
        return None
    folder = Path(out)
    if (folder / INDEX).exists() and not (resume or overwrite):
        raise FileExistsError(f"{folder} already holds fits: give resume=True to go on, or overwrite=True to redo them")
    return folder


def _finished(folder: Path) -> dict[str, str]:
    """Name -> fingerprint of every field in the folder that opens."""
    finished = {}
    for path in (folder / "fields").glob("*.safetensors"):
        try:
            finished[path.stem] = read_header(path).metadata.get("fingerprint", "")
        except FileError:
            continue
    return finished


def _skip(name: str, signal: Any, done: dict[str, str], outcome: ManyFits, folder: Path) -> bool:
    if name not in done:
        return False
    path = folder / "fields" / f"{name}.safetensors"
    metadata = read_header(path).metadata
    if done[name] != fingerprint(Reconstruction(signal, metadata.get("convention", "centres"))):
        return False
    outcome.files[name] = path
    outcome.metrics[name] = metadata["metrics"]
    return True


def _keep(name: str, fit: Fit, outcome: ManyFits, folder: Path | None) -> None:
    outcome.metrics[name] = fit.metrics
    if fit.stopped.startswith("diverged"):
        outcome.failures[name] = fit.stopped
    if folder is None:
        outcome.fits[name] = fit
        return
    path = folder / "fields" / f"{name}.safetensors"
    fit.field.metadata["fingerprint"] = fingerprint(fit.task)
    fit.save(path)
    outcome.files[name] = path


def _write_index(folder: Path, outcome: ManyFits, recipe: Recipe | None, seed: int) -> None:
    document = {
        "format": 1,
        "staf": __version__,
        "seed": seed,
        "recipe": recipe.to_plain() if recipe is not None else None,
        "fields": {
            name: {"file": f"fields/{name}.safetensors", "metrics": outcome.metrics[name]} for name in outcome.files
        },
        "failures": outcome.failures,
    }
    atomic_write(folder / INDEX, json.dumps(document, indent=1, ensure_ascii=False))
