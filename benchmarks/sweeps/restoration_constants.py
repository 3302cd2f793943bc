"""Constants of networks for restorations, searched on several photos: the same trials for every network.

    python -m benchmarks.sweeps.restoration_constants tuning/*.png --size 128 --trials 8 --out first.json
    python -m benchmarks.sweeps.restoration_constants tuning/*.png --chosen first.json --best 2 --out second.json
    python -m benchmarks.sweeps.restoration_constants others/*.png --chosen second.json --best 1 --out held-out.json

The tasks are those of `python -m paper super-resolution`, `denoising`, `inpainting` and `tomography` (of photos, in
grey) under `ours`, each fit by full batches. Trial 0 is what a network has now; the others are those of
`paper.searches.restoration_space`. With `--chosen` the best trials of an earlier file are run, beside trial 0.
`--workers` processes share the device. A trial counts once it has been run by every network on every photo. After
`--seconds` nothing more is waited for; the same command continues with what `--out` does not have.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paper.experiments.inpainting import Inpainting
from paper.experiments.inverse_runs import InverseRun
from paper.experiments.tomography import Slices
from paper.protocols.plan_variants import PlanVariant
from paper.protocols.published import MODELS
from paper.searches.restoration_search import RestorationTrial, task_and_plan
from paper.searches.restoration_space import in_code, settings_of, trials
from staf._files import atomic_write
from staf._machine import provenance
from staf.kinds import Image
from staf.kinds import open as open_signal
from staf.nn import NETWORKS
from staf.ops.execution import Execution
from staf.planning import Budget, Plan, plan
from staf.planning.restoration import with_settings
from staf.tasks import KeepBestHeldOut
from staf.training.prediction import predictor
from staf.training.state import State
from staf.training.stepper import points_at_once
from staf.training.trainer import train

INVERSE = {"inpainting": Inpainting, "tomography": Slices}
TASKS = ("super-resolution", "denoising", *INVERSE)
KEY = ("task", "network", "trial", "photo")
Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One trial of a network on several photos, which are fitted together; the plan is that of the first."""

    task: str
    network: str
    trial: int
    photos: tuple[str, ...]
    variant: PlanVariant
    size: int
    steps: int
    seed: int
    device: str


@functools.lru_cache(maxsize=16)
def reduced(path: str, size: int) -> Image:
    """The centre square of a photo whose side is a multiple of `size`, averaged down to it."""
    photo = open_signal(Path(path))
    if not isinstance(photo, Image) or min(photo.shape) < size:
        raise ValueError(f"photos must be images of at least {size}x{size} pixels, got {path}")
    factor = min(photo.shape) // size
    top, left = ((side - factor * size) // 2 for side in photo.shape)
    part = photo.array[top : top + factor * size, left : left + factor * size]
    means = part.reshape(size, factor, size, factor, -1).mean((1, 3))
    return Image(means.round().astype(np.uint8), name=Path(path).stem)


def run(trial: Trial) -> list[Row]:
    """A row for each photo; a trial that fails says why."""
    t, began = trial, time.perf_counter()
    same = {name: getattr(t, name) for name in ("task", "network", "trial", "seed")} | {"settings": asdict(t.variant)}
    try:
        found = fitted(t)
    except Exception as error:
        if len(t.photos) > 1:
            print(
                f"{t.task} {t.network} trial {t.trial}, photos one by one: {type(error).__name__}: {error}", flush=True
            )
            return [row for photo in t.photos for row in run(replace(t, photos=(photo,)))]
        found = [{"psnr": None, "failed": f"{type(error).__name__}: {error}"}]
    seconds = round((time.perf_counter() - began) / len(t.photos), 2)
    pairs = zip(t.photos, found, strict=True)
    return [{"photo": Path(photo).stem, **same, **row, "seconds": seconds} for photo, row in pairs]


def fitted(trial: Trial) -> list[Row]:
    """The photos restored by the weights that held-out observations chose, or by the last where none are held out."""
    tasks, plans = zip(*(task_and_settings(photo, trial) for photo in trial.photos), strict=True)
    fields, device = [plan.field(trial.seed) for plan in plans], torch.device(trial.device)
    keep = KeepEach(tasks, max(1, trial.steps // 20)) if len(tasks[0].held_out_index) else None
    watching = [] if keep is None else [keep]
    how: dict[str, Any] = {"seed": trial.seed, "execution": Execution(device=device), "callbacks": watching}
    results = train(tasks, fields, plans[0].recipe, progress=False, **how)
    rows = []
    for number, (task, field, result) in enumerate(zip(tasks, fields, results, strict=True)):
        if keep is not None:
            keep.each[number].finish(field)
        field.to(device)
        if hasattr(field, "bind"):
            field.bind(task)
        psnr = task.to(device).psnr(predictor(field, points_at_once(device)))
        rows.append({"psnr": round(psnr, 3), "steps": result.steps})
    return rows


class KeepEach:
    """`KeepBestHeldOut` for several networks that are trained together."""

    def __init__(self, tasks: Sequence[Any], every: int) -> None:
        self.every, self.each = every, [KeepBestHeldOut(task, every=every) for task in tasks]

    def __call__(self, state: State) -> None:
        self.each[state.network](state)


def task_and_settings(photo: str, trial: Trial) -> tuple[Any, Plan]:
    """The task of a photo, and its plan with the trial's settings."""
    t, image = trial, reduced(photo, trial.size)
    task: Any
    if t.task in INVERSE:
        task = INVERSE[t.task]({}).task_of(image, InverseRun(photo, t.network, seed=t.seed))
        default = plan(task, Budget(steps=t.steps), model=t.network, device="cuda")
    else:
        task, default = task_and_plan(image, RestorationTrial(t.task, photo, t.variant, t.trial, t.steps, t.seed))
    return task, with_settings(default, task, t.network, settings_of(t.variant))


def finished(jobs: Sequence[Trial], workers: int, deadline: float) -> Iterator[Row]:
    """Rows as they come, from this process or several, until the deadline."""
    if workers == 1:
        yield from itertools.chain(*itertools.takewhile(lambda rows: time.monotonic() < deadline, map(run, jobs)))
        return
    # Fresh processes, because CUDA does not survive a fork.
    with multiprocessing.get_context("spawn").Pool(workers, torch.set_num_threads, (1,)) as pool:
        rows = pool.imap_unordered(run, jobs)
        for _ in jobs:
            left = deadline - time.monotonic()
            try:
                yield from rows.next(None if math.isinf(left) else max(0.0, left))
            except multiprocessing.TimeoutError:
                return


def designed(options: argparse.Namespace) -> Iterator[tuple[str, str, int, PlanVariant]]:
    """Every trial of every network: the design, or the best of an earlier file beside trial 0; by trials first."""
    found: dict[tuple[str, str], list[tuple[int, PlanVariant]]] = {}
    ranks = {} if options.chosen is None else ranking(json.loads(options.chosen.read_text())["rows"])
    for key in itertools.product(options.tasks, options.networks):
        if options.chosen is None:
            # As a plan has it, where a network has no constants for a task.
            searched = key[0].replace("-", "_") in NETWORKS[key[1]].restoration
            space = key[0] if searched else "super-resolution"
            found[key] = list(enumerate(trials(space, key[1], options.trials)))
        else:
            best = [row for row in ranks[key] if row["trial"] != 0][: options.best]
            chosen = [*(row for row in ranks[key] if row["trial"] == 0), *best]
            found[key] = [(row["trial"], PlanVariant(**row["settings"])) for row in chosen]
    for place in range(max(map(len, found.values()))):
        for (task, network), members in found.items():
            if place < len(members):
                yield task, network, *members[place]


def ranking(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Of each task and network its trials as rows with the mean PSNR, best first; as many for every network.

    A trial counts where all photos have it. Where a search was stopped, the last trials that not all networks of the
    task have are left out.

    >>> rows = [{"task": "t", "network": "n", "trial": i, "photo": "p", "psnr": 20 + i, "settings": {}} for i in (0, 1)]
    >>> [row["psnr"] for row in ranking(rows)["t", "n"]]
    [21.0, 20.0]
    """
    groups: dict[tuple[str, str], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row["task"], row["network"]][row["trial"]].append(row)
    photos = {task: {row["photo"] for row in rows if row["task"] == task} for task, _ in groups}
    whole = {
        key: [members for members in tried.values() if {row["photo"] for row in members} == photos[key[0]]]
        for key, tried in groups.items()
    }
    common = {task: min(len(members) for key, members in whole.items() if key[0] == task) for task in photos}
    found = {}
    for key, members in whole.items():
        means = [{**of[0], "psnr": _mean(of)} for of in members[: common[key[0]]]]
        found[key] = sorted(means, key=lambda row: -row["psnr"])
    return found


def _mean(rows: Sequence[Row]) -> float:
    known = [row["psnr"] for row in rows]
    return -math.inf if None in known else sum(known) / len(known)


def table(rows: Sequence[Row]) -> str:
    """A row for each task and network, best first: trial 0, the best trial, and its settings."""
    lines = ["| task | network | trial 0 | best | gain | trials | best settings |", "|---|---|---:|---:|---:|---:|---|"]
    ranks = {key: found for key, found in ranking(rows).items() if found}
    for task, network in sorted(ranks, key=lambda key: (TASKS.index(key[0]), -ranks[key][0]["psnr"])):
        found = ranks[task, network]
        best, now = found[0], next((row["psnr"] for row in found if row["trial"] == 0), math.nan)
        words = f"{best['trial']}: {in_code(PlanVariant(**best['settings']))}"
        numbers = f"{now:.2f} | {best['psnr']:.2f} | {best['psnr'] - now:+.2f} | {len(found)}"
        lines.append(f"| {task} | {network} | {numbers} | {words} |")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="+")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--networks", nargs="+", default=list(MODELS), metavar="NAME")
    parser.add_argument("--trials", type=int, default=8, metavar="N", help="of each network, trial 0 included")
    parser.add_argument("--chosen", type=Path, metavar="FILE", help="an earlier result, whose best trials are run")
    parser.add_argument("--best", type=int, default=1, metavar="N", help="of each network beside trial 0")
    parser.add_argument("--size", type=int, default=256, metavar="N", help="side of the photos after averaging")
    parser.add_argument("--steps", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1, metavar="N")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument(
        "--commit", default=None, metavar="HASH", help="of the code that is run, where git does not tell"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(words)
    about = {name: value.name if isinstance(value, Path) else value for name, value in vars(options).items()}
    about |= {"photos": [Path(photo).stem for photo in options.photos], "seconds": None}
    document = {"protocol": about, **provenance(options.device)}
    if options.commit:
        document["commit"] = options.commit
    how = (options.size, options.steps, options.seed, options.device)
    rows: list[Row] = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
    rows = [row for row in rows if "failed" not in row]
    known, jobs = {tuple(row[name] for name in KEY) for row in rows}, []
    for task, network, number, variant in designed(options):
        left = [photo for photo in options.photos if (task, network, number, Path(photo).stem) not in known]
        # INCODE reads its target, so that its networks cannot be trained together; nor can those of large observations.
        parts = [(photo,) for photo in left] if network == "incode" or task == "tomography" else [tuple(left)]
        jobs += [Trial(task, network, number, part, variant, *how) for part in parts if part]
    print(f"{len(rows)} fits are there, {sum(len(job.photos) for job in jobs)} are to be run", flush=True)
    began = len(rows)
    for row in finished(jobs, options.workers, time.monotonic() + options.seconds):
        rows.append(row)
        if len(rows) % 20 == 0:
            print(f"{len(rows)}: {row}", flush=True)
            atomic_write(options.out, json.dumps({**document, "rows": rows}) + "\n")
    print(f"{len(rows)} of {began + sum(len(job.photos) for job in jobs)} fits")
    atomic_write(options.out, json.dumps({**document, "rows": rows}) + "\n")
    for row in rows:
        if "failed" in row:
            print(f"failed: {row['task']} {row['network']} trial {row['trial']} {row['photo']}: {row['failed']}")
    print(table(rows))


if __name__ == "__main__":
    main()
