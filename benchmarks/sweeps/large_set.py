"""Thousands of faces through the path of a data set: read, fitted on a GPU, written in shards, killed once and resumed.

`python -m benchmarks.sweeps.large_set --data CELEBA --images 10000 --seconds 90 --out RESULT.json`: faces of 128x128
(crop 178x178, area means), repeated under other names where there are fewer, each with the library's recipe, or for a
few steps from a learnt start (`--start FILE`). A child process fits; after `--kill-after` seconds of fitting it is
ended by SIGKILL, and the same call resumes until all are fitted or the time is up. Images a second count from the call
of `fit_many` to its last commit, of each process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import staf
from benchmarks.many_profile import plan_of
from paper.data.preparation import Preparation
from paper.experiments.weights import Opening
from staf import recipes
from staf._machine import provenance
from staf.storage.sets import Entry, SetFolder
from staf.storage.sets.shard import SHARDS


def sources(folder: Path, count: int, size: int) -> list[Opening]:
    """Faces that are opened in their turn, each under a name of its own."""
    paths, prepare = sorted(folder.iterdir()), Preparation(crop=(178, 178), size=(size, size))
    chosen = ((number // len(paths), paths[number % len(paths)]) for number in range(count))
    return [Opening(f"{path.stem}-{copy:03d}", path, prepare) for copy, path in chosen]


def drive(options: argparse.Namespace) -> None:
    """Fit what is missing, and print the seconds since the call at each commit of finished fields."""
    own = recipes.few_steps if options.steps <= 100 else recipes.default
    plan = plan_of(options.width, own(steps=options.steps).replace(precision=options.precision))
    if options.start is not None:
        start = staf.load_start(options.start)
        plan = staf.Plan(start.field_factory, start.recipe.replace(precision=options.precision))
    commit, began = SetFolder.commit, time.monotonic()

    def told(folder: SetFolder, entries: Sequence[Entry], failures: dict[str, str]) -> None:
        commit(folder, entries, failures)
        if entries:
            print(json.dumps({"seconds": round(time.monotonic() - began, 3), "fields": len(entries)}), flush=True)

    SetFolder.commit = told  # type: ignore[assignment, method-assign]
    print(json.dumps({"seconds": 0.0, "fields": 0}), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        staf.fit_many(
            sources(options.data, options.images, options.size),
            plan=plan,
            out=options.set,
            shards=True,
            resume=(options.set / "set.json").exists(),
            device=options.device,
            at_once=options.at_once,
            progress=False,
        )


def run_child(end: int, seconds: float, until: float) -> dict[str, Any]:
    """One process that fits, ended by a signal after so many seconds of fitting, or when the clock stands at `until`;
    what it has committed, and when.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *sys.argv[1:], "--drive"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    lines = [json.loads(child.stdout.readline() or "{}")]
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(min(seconds, max(1.0, until - time.monotonic())))
    finished = child.poll() is not None
    if not finished:
        child.send_signal(end)
    lines += [json.loads(line) for line in child.stdout]
    child.wait()
    fields, last = sum(line.get("fields", 0) for line in lines), lines[-1].get("seconds", 0.0)
    rate = round(fields / last, 2) if last else None
    return {"fields": fields, "seconds": last, "images_per_s": rate, "finished": finished, "commits": lines[1:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--precision", default="bf16x3")
    parser.add_argument("--at-once", type=int)
    parser.add_argument("--start", type=Path, help="a learnt start, whose steps are taken")
    parser.add_argument("--kill-after", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--set", type=Path, default=Path(tempfile.gettempdir()) / f"staf-large-set-{os.getpid()}")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.drive:
        drive(options)
        return
    # The children write to the same place.
    sys.argv += ["--set", str(options.set)]
    until = time.monotonic() + options.seconds
    killed = run_child(signal.SIGKILL, options.kill_after, until)
    print(json.dumps({"killed": killed}), flush=True)
    resumed = run_child(signal.SIGTERM, options.seconds, until)
    opened = time.monotonic()
    fields = staf.FieldSet(options.set)
    values = [entry.metrics["psnr"] for entry in fields.entries]
    shards = [path.stat().st_size for path in (options.set / SHARDS).glob("*.safetensors")]
    result = {
        "killed": killed,
        "resumed": resumed,
        "fields": len(fields),
        "names": len(set(fields.names)),
        "failures": len(fields.failures),
        "mean_psnr": round(statistics.mean(values), 3),
        "shards": len(shards),
        "megabytes": round(sum(shards) / 1e6),
        "seconds_to_open": round(time.monotonic() - opened, 2),
    }
    print(json.dumps(result), flush=True)
    if options.out is not None:
        settings = {name: str(value) for name, value in vars(options).items() if name not in ("out", "drive", "set")}
        document = {**provenance(options.device), "settings": settings, **result}
        options.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
