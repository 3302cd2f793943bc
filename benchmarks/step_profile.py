"""Time captured steps and list their kernels: `python -m benchmarks.step_profile staf:5:262144:adam:bf16x3 ...`.

A case is network:terms:points:optimiser:precision (terms 0 where a network has none). For each, the milliseconds of a
step, the smallest mean of some rounds, then the kernels of a step by the profiler, longest first: microseconds and
launches of each. `--kernels 0` leaves the lists out. With "predict" for the optimiser it is a pass of a field's values,
as `FittedField.predict` makes it, and the milliseconds of the largest mean and those that the host needs follow.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import statistics
import sys
import time
from dataclasses import replace
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from staf._machine import provenance
from staf.benchmarking.cases import Case, Version
from staf.benchmarking.programs import Program, inference, training

ROUNDS, SECONDS, PROFILED, LAUNCHED = 3, 0.25, 10, 50
PREDICT = "predict"


def program(described: str, device: str) -> Program:
    """The steps of a case, which have run before."""
    model, terms, points, optimiser, precision = described.split(":")
    kind = "inference" if optimiser == PREDICT else "train"
    case = Case(kind, model, int(points), int(terms) or None)  # type: ignore[arg-type]
    version = Version("staf", ours=True, precision=precision)  # type: ignore[arg-type]
    if kind == "inference":
        return inference(case, version, device)
    made = training(case, replace(version, optimiser=optimiser), device)  # type: ignore[arg-type]
    # The first steps are launched one by one, and the one after them is recorded.
    for _ in range(2):
        made.run()
    return made


def milliseconds(made: Program) -> list[float]:
    """Of one step: the means of some rounds, in which steps are queued one after another."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    made.run()
    torch.cuda.synchronize()
    repeats = max(1, int(SECONDS / ROUNDS / max(time.perf_counter() - began, 1e-6)))
    means = []
    for _ in range(ROUNDS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            made.run()
        end.record()
        torch.cuda.synchronize()
        means.append(start.elapsed_time(end) / (repeats * made.units))
    return means


def host_milliseconds(made: Program) -> float:
    """Until the host has launched a pass, on a GPU that has nothing else to do; the median of some."""
    times = []
    for _ in range(LAUNCHED):
        torch.cuda.synchronize()
        began = time.perf_counter()
        made.run()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def kernels(made: Program) -> list[tuple[str, float, float]]:
    """Name, microseconds a step and launches a step of each kernel, longest first."""
    runs = max(1, PROFILED // made.units)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(runs):
            made.run()
        torch.cuda.synchronize()
    times: dict[str, list[float]] = collections.defaultdict(list)
    for event in profiler.events():
        if event.device_type == DeviceType.CUDA:
            times[short(event.name)].append(event.time_range.elapsed_us())
    steps = runs * made.units
    return sorted(
        ((name, sum(all_) / steps, len(all_) / steps) for name, all_ in times.items()), key=lambda row: -row[1]
    )


def short(name: str) -> str:
    """A kernel's name without the types that it was made for.

    >>> short("void at::native::vectorized_elementwise_kernel<4, at::native::AbsFunctor<float> >(int)")
    'vectorized_elementwise_kernel AbsFunctor'
    """
    inner = re.findall(r"(\w+(?:Functor|Ops|_kernel_cuda|_kernel_impl|scalar)\w*)", name.partition("<")[2])
    plain = name.partition("<")[0].partition("(")[0].split("::")[-1].removeprefix("void ").strip()
    return " ".join([plain or name[:40], *[part for part in inner if part != plain][:1]])[:70]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step_profile", description=__doc__)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--kernels", type=int, default=12, help="how many kernels of each case are listed")
    parser.add_argument("--commit", default=None, help="the commit to print where the copy has no repository")
    options = parser.parse_args(arguments)
    facts: dict[str, Any] = provenance("cuda")
    print(json.dumps(facts | {"commit": facts.get("commit") or options.commit}))
    for described in options.cases:
        try:
            made = program(described, "cuda")
            means = milliseconds(made)
            if f":{PREDICT}:" in described:
                spread = f"to {max(means):.4f} ms a pass, launched in {host_milliseconds(made):.4f}"
            else:
                spread = "ms a step"
            print(f"{described:34s} {min(means):8.4f} {spread} {made.notes or ''}", flush=True)
            rows = kernels(made) if options.kernels else []
        except Exception as error:  # one case that cannot run must not cost the others
            print(f"{described}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        if rows:
            print(f"    {sum(row[1] for row in rows):.1f} us in {sum(row[2] for row in rows):.1f} launches a step")
        for name, microseconds, launches in rows[: options.kernels]:
            print(f"    {microseconds:8.1f} us {launches:5.1f}x {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
