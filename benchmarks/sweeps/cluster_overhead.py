"""What a cluster costs: the same pictures fitted in this process and by one worker of a Ray cluster, in turn.

`python -m benchmarks.sweeps.cluster_overhead --pairs 4 --out RESULT.json`. Seconds of the clock are what a user waits,
and mean little where other programs use the machine; seconds of the processor are those of this process and of Ray's
worker. Ray's services use some of the processor as long as they run, which is stated apart, and so is the start of Ray
and of its worker with torch, which is paid once a run.
"""

from __future__ import annotations

import argparse
import json
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


def timed(paths: list[Path], out: Path, chosen: staf.Plan, cluster: str | None) -> dict[str, float]:
    """Seconds of the clock and of the processor for one run; the worker is there from a run before."""
    clock, own, before = time.monotonic(), time.process_time(), of_processes(os.getpid())
    fits = staf.fit_many(paths, plan=chosen, out=out, shards=True, cluster=cluster, device="cpu", progress=False)
    assert len(fits) == len(paths), fits.failures
    workers, services = (now - then for now, then in zip(of_processes(os.getpid()), before, strict=True))
    used = {"clock": time.monotonic() - clock, "processor": time.process_time() - own + workers, "services": services}
    return {name: round(value, 2) for name, value in used.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=32)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=4)
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
    overhead = {
        kind: round(statistics.median(pair["cluster"][kind] / pair["here"][kind] - 1 for pair in pairs), 4)
        for kind in ("clock", "processor")
    }
    print(f"start: {start}; overhead, median of the pairs: {overhead}", flush=True)
    settings = {name: value for name, value in vars(options).items() if name != "out"}
    result = {**provenance("cpu"), "load": os.getloadavg(), "settings": settings, "start": start}
    if options.out is not None:
        options.out.write_text(json.dumps({**result, "pairs": pairs, "overhead": overhead}, indent=1) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main()
