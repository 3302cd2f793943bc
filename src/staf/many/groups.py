"""Signals that train together: how many fit into memory, the training of a group, and its part of the progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import torch

from staf.api import Fit
from staf.many.plans import Job
from staf.ops.execution import Execution
from staf.planning.plans import points_of
from staf.tasks import task_for
from staf.training import Callback, train
from staf.training.progress import Progress
from staf.training.stacked import Copies
from staf.training.stepper import is_out_of_memory

# Bytes that one point of one network needs in a step of a 4 x 256 network: activations, their gradients, the batch.
BYTES_PER_POINT = 20_000
# Networks that train together, at most. Beyond EVEN their number is a multiple of it: the kernels give each network the
# same number of programs, and an H200 runs 264 at once, so that 160 networks would leave a third of it idle.
MOST, EVEN = 256, 64


def fit_group(
    group: Sequence[Job], seed: int, device: torch.device, callbacks: Sequence[Callback], share: Share
) -> list[Fit] | None:
    """The fits of one group, or None if memory ran out and a smaller group should be tried."""
    plan, recipe = group[0].plan, group[0].recipe
    try:
        tasks = [task_for(job.signal, recipe.convention) for job in group]
        results = train(
            tasks,
            Copies(plan.field(seed), len(group)),
            recipe,
            seed=seed,
            execution=Execution(device=device),
            progress=share,
            callbacks=callbacks,
            names=[job.name for job in group],
        )
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error) or len(group) == 1:
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return None
    return [
        Fit(result, task.to("cpu"), job.plan, str(device))
        for job, result, task in zip(group, results, tasks, strict=True)
    ]


class Share:
    """The part of the progress that a group of networks makes."""

    def __init__(self, bar: Progress, finished: int, count: int, total: int, started: float) -> None:
        self.bar, self.finished, self.count, self.total, self.started = bar, finished, count, total, started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def update(self, step: int, loss: float, psnr: float, elapsed: float, fraction: float) -> None:
        done = (self.finished + self.count * fraction) / self.total
        self.bar.update(self.finished, loss, psnr, time.monotonic() - self.started, done)

    def say(self, sentence: str) -> None:
        self.bar.say(sentence)


def together(jobs: Sequence[Job], most: int) -> list[Job]:
    """The next jobs that train together: one where the network must be alone, and one size for mini-batches."""
    if jobs[0].alone:
        return [jobs[0]]
    if jobs[0].recipe.batch is None:
        return list(jobs[:most])
    first = points_of(jobs[0].signal)
    return [job for job in jobs[:most] if points_of(job.signal) == first]


def capacity(jobs: Sequence[Job], device: torch.device) -> int:
    """How many networks fit into two thirds of the free memory, judged by the largest signal."""
    free = 2 * 2**30
    if device.type == "cuda":
        # What earlier groups had is still torch's, and given back where it is needed.
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = (torch.cuda.mem_get_info(device)[0] + unused) * 2 // 3
    largest = max(job.recipe.batch_size(points_of(job.signal)) for job in jobs)
    most = int(max(1, min(MOST, free // (largest * BYTES_PER_POINT))))
    return most - most % EVEN if most > EVEN else most
