"""Kill workers and drivers of a cluster run at random moments, and compare the set with an undisturbed one.

`python -m benchmarks.sweeps.killed_cluster --workers 20 --drivers 20 --alone 20 --out RESULT.json` fits small pictures
on a Ray cluster of this machine, and (`--alone`) in one process without a cluster. A process is ended by SIGKILL, so
that it can do nothing about it. A killed driver is started again with resume. At the end every field must be there
once, with the bits of a run in one process without a cluster; the exit code says whether that is so.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from staf._machine import provenance
from staf.many import writing as many_writing
from staf.many.cluster import SYSTEM
from staf.planning import recipes
from staf.storage.sets.place import Place
from staf.storage.sets.shard import SHARDS, Shard


def small_plan(steps: int) -> staf.Plan:
    """A network that takes some tenths of a second."""

    def factory(generator: torch.Generator) -> torch.nn.Module:
        return staf.staf(2, 3, width=16, depth=2, generator=generator)

    return staf.Plan(factory, recipes.default(steps=steps))


def drive(inputs: Path, out: Path, steps: int, cluster: str | None) -> None:
    """One run, or the rest of one."""
    paths = sorted(inputs.glob("*.npy"))
    staf.fit_many(
        paths,
        plan=small_plan(steps),
        out=out,
        shards=True,
        cluster=cluster,
        resume=(out / "set.json").exists(),
        device="cpu",
        progress=False,
    )


def started(inputs: Path, out: Path, steps: int, cluster: str) -> subprocess.Popen[bytes]:
    """A driver in a process of its own."""
    words = [sys.executable, "-m", __spec__.name, "--drive", str(inputs), str(out), "--steps", str(steps)]
    return subprocess.Popen([*words, "--cluster", cluster])


@contextlib.contextmanager
def cluster_of_two() -> Iterator[tuple[str, int]]:
    """A Ray cluster with two workers: its address, and the process that all of its processes are below."""
    while True:
        words = [sys.executable, "-m", __spec__.name, "--serve"]
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if address:
            break
        # On a busy machine Ray may not start in its 30 s.
        print(f"Ray did not start, exit code {server.wait()}; again", flush=True)
    try:
        yield address, server.pid
    finally:
        server.communicate("end\n")


def serve() -> None:
    """Start a cluster, say its address, and end it when a line is read."""
    import ray

    limits: dict[str, Any] = {"object_store_memory": 2**27, "_system_config": SYSTEM}
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, **limits)
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.readline()
    ray.shutdown()


def descendants(parent: int) -> dict[int, str]:
    """The processes below one, with their command lines."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                commands[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
                parents[int(entry.name)] = int(status[1])
            except OSError:
                continue
    found: dict[int, str] = {}
    for process in commands:
        above = process
        while above in parents and above != parent:
            above = parents[above]
        if above == parent and process != parent:
            found[process] = commands[process]
    return found


def end(processes: list[int]) -> None:
    """Kill what is still there of some processes."""
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def fitting(server: int) -> list[int]:
    """The workers of a cluster that fit a unit now."""
    return [process for process, command in descendants(server).items() if "ray::fit_unit" in command]


def kill_workers(driver: subprocess.Popen[bytes], server: int, count: int, longest: float, rng: random.Random) -> int:
    """Kill workers that are fitting, one after another; returns how many."""
    killed = 0
    while killed < count and driver.poll() is None:
        time.sleep(rng.uniform(0.0, longest))
        workers = fitting(server)
        if workers:
            end([rng.choice(workers)])
            killed += 1
            print(f"  worker {killed}", flush=True)
    return killed


def kill_drivers(
    start: Callable[[], subprocess.Popen[bytes]], server: int, count: int, longest: float, rng: random.Random
) -> int:
    """Start drivers and kill each at a random moment, until the work is done; returns how many were killed."""
    killed = 0
    while killed < count:
        driver = start()
        # One in four dies while it starts, the others while workers fit.
        if rng.random() < 0.75:
            while driver.poll() is None and not fitting(server):
                time.sleep(0.1)
        time.sleep(rng.uniform(0.0, longest))
        if driver.poll() is not None:
            if driver.returncode == 0:
                return killed
            print(f"  a driver ended by itself with exit code {driver.returncode}", flush=True)
            continue
        end([driver.pid])
        driver.wait()
        killed += 1
        print(f"  driver {killed}", flush=True)
    while start().wait() != 0:
        print("  the last driver is started again", flush=True)
    return killed


def kill_alone(inputs: Path, out: Path, steps: int, count: int, longest: float, rng: random.Random) -> int:
    """Kill processes that fit without a cluster, each at a random moment; returns how many before the work was done."""
    for killed in range(count):
        process = os.fork()
        if process == 0:
            # Shards are written often, so that some die between a shard and the index.
            many_writing.SHARD_SECONDS = longest / 20
            drive(inputs, out, steps, None)
            os._exit(0)
        time.sleep(rng.uniform(0.0, longest))
        os.kill(process, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0:
            return killed
    drive(inputs, out, steps, None)
    return count


def compare(out: Path, reference: Path) -> dict[str, int]:
    """What a set has of another one."""
    disturbed, undisturbed = staf.FieldSet(out), staf.FieldSet(reference)
    same = 0
    for name in set(disturbed.names) & set(undisturbed.names):
        one, other = disturbed.weights(name), undisturbed.weights(name)
        same += one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in other)
    place = Place(out)
    written = [entry["name"] for shard in place.names(SHARDS) for entry in Shard(place, shard).fields]
    return {
        "pictures": len(undisturbed),
        "fields": len(disturbed),
        "equal_bit_for_bit": same,
        "written_twice": len(written) - len(set(written)),
        "failures": len(disturbed.failures),
    }


def is_whole(row: dict[str, Any]) -> bool:
    """Whether nothing was lost, nothing changed and nothing was written twice."""
    lost = row["pictures"] - min(row["fields"], row["equal_bit_for_bit"])
    return not lost and not row["written_twice"] and not row["failures"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--drivers", type=int, default=20)
    parser.add_argument("--alone", type=int, default=20)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file for the result")
    parser.add_argument("--cluster", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--drive", nargs=2, type=Path, metavar=("INPUTS", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.drive:
        drive(options.drive[0], options.drive[1], options.steps, options.cluster)
        return
    # Drivers that connect to a cluster need its token.
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    rng, folder = random.Random(options.seed), Path(tempfile.mkdtemp(prefix="staf-killed-"))
    inputs = folder / "inputs"
    inputs.mkdir()
    values = np.random.default_rng(options.seed)
    for number in range(options.pictures):
        np.save(inputs / f"{number:05d}.npy", values.integers(0, 256, (12, 12, 3), np.uint8))
    began, rows = time.monotonic(), []
    drive(inputs, folder / "reference", options.steps, None)
    # A part of the whole work, so that moments are spread over it whatever the speed of the machine.
    longest = (time.monotonic() - began) / 4
    print(f"undisturbed: {options.pictures} pictures in {4 * longest:.1f} s", flush=True)

    def until(what: str, count: int, disturb: Callable[[Path, int], int]) -> None:
        """Disturb runs until so many processes were killed; one run may end before."""
        killed = number = 0
        while killed < count:
            out, number = folder / f"{what}-{number}", number + 1
            now = disturb(out, count - killed)
            killed += now
            rows.append({"what": what, "killed": now, **compare(out, folder / "reference")})
            print(rows[-1], flush=True)

    until("process", options.alone, lambda out, count: kill_alone(inputs, out, options.steps, count, longest, rng))
    if options.workers or options.drivers:
        with cluster_of_two() as (address, server):

            def workers(out: Path, count: int) -> int:
                driver = started(inputs, out, options.steps, address)
                killed = kill_workers(driver, server, count, longest, rng)
                assert driver.wait() == 0
                return killed

            def drivers(out: Path, count: int) -> int:
                start = functools.partial(started, inputs, out, options.steps, address)
                return kill_drivers(start, server, count, longest, rng)

            until("worker", options.workers, workers)
            until("driver", options.drivers, drivers)
    if options.out is not None:
        settings = {"pictures": options.pictures, "steps": options.steps, "seed": options.seed}
        result = {**provenance("cpu"), "settings": settings, "runs": rows}
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if all(map(is_whole, rows)) else 1)


if __name__ == "__main__":
    main()
