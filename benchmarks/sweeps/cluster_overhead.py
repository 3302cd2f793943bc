"""What a cluster costs: the same pictures fitted in this process and by one worker of a Ray cluster, in turn.

`python -m benchmarks.sweeps.cluster_overhead --pairs 40 --out RESULT.json`. Both fit with one thread on the same core:
this process is pinned to it while it fits, and Ray's worker always. Each pair is a ratio of two runs that follow each
other, in either order. The result is the median of the ratios with an interval that holds the true median with at least
95% probability, by ranks, whatever the distribution.

`clock` is what a user waits, and means little where other programs use the core; `processor` is what this process and
the worker use together, which other programs change much less; `with_services` adds what Ray's services used meanwhile.
The start of Ray and of its worker with torch is paid once a run, and is stated apart.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from benchmarks.sweeps.killed_cluster import descendants
from staf._machine import provenance
from staf.many.cluster import SYSTEM
from staf.planning import recipes

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.sched_getaffinity(0)


def plan(width: int, steps: int) -> staf.Plan:
    def factory(generator: torch.Generator) -> torch.nn.Module:
        return staf.staf(2, 3, width=width, depth=3, generator=generator)

    return staf.Plan(factory, recipes.default(steps=steps))


def of_processes(parent: int) -> tuple[float, float]:
    """Seconds of the processor that Ray's workers below a process have used, and Ray's services."""
    total = [0.0, 0.0]
    for process, command in descendants(parent).items():
        try:
            fields = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total["ray::" not in command] += (int(fields[11]) + int(fields[12])) / TICKS
    return total[0], total[1]


def pin(process: int, cores: set[int]) -> None:
    """Let all threads of a process run on some cores alone."""
    for thread in (Path("/proc") / str(process) / "task").iterdir():
        with contextlib.suppress(OSError):
            os.sched_setaffinity(int(thread.name), cores)


def pin_both(cluster: bool) -> None:
    """The one that fits to the last core; the driver of a cluster to the others, where there are any."""
    cores = sorted(CORES)
    pin(os.getpid(), set(cores[:-1] or cores) if cluster else {cores[-1]})
    for process, command in descendants(os.getpid()).items():
        if command.startswith("ray::"):
            pin(process, {cores[-1]})


def timed(paths: list[Path], out: Path, chosen: staf.Plan, cluster: str | None) -> dict[str, float]:
    """Seconds of the clock and of the processor for one run; the worker is there from a run before."""
    pin_both(cluster is not None)
    clock, own, before = time.monotonic(), time.process_time(), of_processes(os.getpid())
    fits = staf.fit_many(paths, plan=chosen, out=out, shards=True, cluster=cluster, device="cpu", progress=False)
    assert len(fits) == len(paths), fits.failures
    workers, services = (now - then for now, then in zip(of_processes(os.getpid()), before, strict=True))
    processor = time.process_time() - own + workers
    used = {"clock": time.monotonic() - clock, "processor": processor}
    # Services run on beside a fit in this process too, which is not its doing.
    used["with_services"] = processor + (services if cluster is not None else 0.0)
    return {name: round(value, 3) for name, value in used.items()}


def median_and_interval(values: list[float]) -> dict[str, Any]:
    """The median, and the ranks between which the true one lies with at least 95% probability (none of fewer than 6).

    >>> median_and_interval([5.0, 1.0, 2.0, 6.0, 4.0, 3.0])
    {'median': 3.5, 'interval': [1.0, 6.0]}
    """
    ordered, count, below, rank = sorted(values), len(values), 0.0, 0
    while below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    interval = [ordered[rank - 1], ordered[count - rank]] if rank else None
    return {"median": statistics.median(values), "interval": interval}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=16)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import ray

    torch.set_num_threads(1)
    folder, values = Path(tempfile.mkdtemp(prefix="staf-overhead-")), np.random.default_rng(0)
    paths = [folder / f"{number:04d}.npy" for number in range(options.pictures)]
    for path in paths:
        np.save(path, values.integers(0, 256, (options.size, options.size, 3), np.uint8))
    chosen = plan(options.width, options.steps)
    began = time.monotonic()
    options_of_ray: dict[str, Any] = {"object_store_memory": 2**27, "include_dashboard": False, "log_to_driver": False}
    ray.init("local", num_cpus=1, _system_config=SYSTEM, **options_of_ray)
    start: dict[str, Any] = {"ray": round(time.monotonic() - began, 2)}
    # The first run in this process and the first of the worker load what the later ones find.
    timed(paths[:1], folder / "first-here", chosen, None)
    start["worker"] = timed(paths[:1], folder / "first-there", chosen, "local")["clock"]
    pairs = []
    for number in range(options.pairs):
        places = [("here", None), ("cluster", "local")]
        # Each is the first as often as the other.
        found = {
            name: timed(paths, folder / f"{name}-{number}", chosen, cluster)
            for name, cluster in (places if number % 2 == 0 else places[::-1])
        }
        pairs.append(found)
        print(found, flush=True)
    kinds = ("clock", "processor", "with_services")
    ratios = {kind: [pair["cluster"][kind] / pair["here"][kind] - 1 for pair in pairs] for kind in kinds}
    overhead = {kind: median_and_interval([round(ratio, 4) for ratio in found]) for kind, found in ratios.items()}
    print(f"start: {start}; overhead by the pairs: {overhead}", flush=True)
    settings = {name: value for name, value in vars(options).items() if name != "out"}
    result = {**provenance("cpu"), "load": os.getloadavg(), "settings": settings, "start": start}
    if options.out is not None:
        options.out.write_text(json.dumps({**result, "pairs": pairs, "overhead": overhead}, indent=1) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main()
