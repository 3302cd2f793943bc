"""One timing of one version of a case."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from staf.benchmarking.cases import Case, Version
from staf.benchmarking.programs import Program, build
from staf.benchmarking.timing import Effort, once, seconds_of
from staf.training.stepper import is_out_of_memory

Builder = Callable[[Case, Version, str], Program]


@dataclass(frozen=True)
class Measurement:
    """Seconds per step, pass or image; on a CPU also the processor's time over all threads, on a GPU the peak memory.

    Where other programs share the processors, the processor's time is the steadier measure of the two.
    """

    seconds: float
    processor: float | None = None
    peak_gib: float | None = None
    notes: list[str] = field(default_factory=list)


def measure(case: Case, version: Version, device: str, effort: Effort, builder: Builder | None = None) -> Measurement:
    """Time a version; the released form gets fewer points at a time where memory runs out, as the library's does.

    `builder` makes the program; by default `staf.benchmarking.programs.build`.
    """
    while True:
        try:
            return _measure(case, version, device, effort, builder or build)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            chunk = (case.chunk or case.points) // 2
            if version.ours or not is_out_of_memory(error) or chunk < case.points // 64:
                raise
            case = replace(case, chunk=chunk)
        finally:
            clean(device)


def _measure(case: Case, version: Version, device: str, effort: Effort, builder: Builder) -> Measurement:
    on_gpu = device.startswith("cuda")
    before = 0
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
    program = builder(case, version, device)
    started = time.process_time()
    seconds = once(program.run, device)
    processor = time.process_time() - started
    repeats = effort.repeats(seconds)
    if repeats > 1:
        started = time.process_time()
        seconds = seconds_of(program.run, device, repeats, wall=program.wall)
        processor = (time.process_time() - started) / repeats
    peak = (torch.cuda.max_memory_allocated(device) - before) / 2**30 if on_gpu else None
    units = program.units
    return Measurement(seconds / units, None if on_gpu else processor / units, peak, list(program.notes))


def clean(device: str) -> None:
    """Give back what the last version held, so that the next one has the machine to itself."""
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    if device.startswith("cuda"):
        gc.collect()
        torch.cuda.empty_cache()
