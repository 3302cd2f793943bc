"""One training step, written so that it can be captured: everything a step reads lies in device tensors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from staf.training.batches import Batches
from staf.training.jittered_batches import JitteredBatches
from staf.training.memory import keep_freed_memory
from staf.training.optim.optimiser import Optimiser
from staf.training.processes import current
from staf.training.stacked import StackedTask
from staf.training.task import Batch, Task
from staf.training.threads import Threads

# Points that a step, or a pass without gradients, handles at once, so that memory stays bounded on large signals.
_POINTS_AT_ONCE = {"cpu": 2**14, "cuda": 2**20}


def points_at_once(device: torch.device) -> int:
    """How many points a step handles at once on a device.

    >>> points_at_once(torch.device("cpu"))
    16384
    """
    return _POINTS_AT_ONCE.get(device.type, _POINTS_AT_ONCE["cuda"])


class OutOfMemory(RuntimeError):
    """One point at a time was too much."""


class Stepper:
    """Runs steps in groups of up to `group`: rates and batches of a group are laid in tables on the device, a counter
    walks through them, and the losses come back together.

    Losses of chunks add up, so a batch that does not fit in memory is halved and tried again; the optimiser has not
    moved by then, so nothing is lost. A task whose loss is a vector trains several networks at once.
    """

    def __init__(
        self,
        task: Task | StackedTask,
        field: nn.Module,
        optimiser: Optimiser,
        batches: Batches | JitteredBatches,
        *,
        group: int,
        chunk: int,
    ) -> None:
        device = optimiser.parameters[0].device
        self._threads = Threads() if device.type == "cpu" else None
        if device.type == "cpu":
            keep_freed_memory()
        self.task, self.field, self.optimiser, self.batches = task, field, optimiser, batches
        self.group, self.chunk = group, min(chunk, batches.size)
        self.notes: list[str] = []
        # Whether steps of the last group were launched one by one, where others are recorded.
        self.is_warming_up = False
        self._processes = current()
        self._penalty = getattr(field, "penalty", None)
        self._rates = torch.zeros(group, len(optimiser.base_rates), device=device)
        self._losses = torch.zeros(group, getattr(task, "networks", 1), device=device, dtype=torch.float32)
        self._counter = torch.zeros(1, dtype=torch.long, device=device)
        self._whole = task.batch(None) if batches.full else None
        if not batches.full:
            self._index = torch.zeros(group, batches.size, dtype=torch.long, device=device)
            self._weight = torch.zeros(group, batches.size, device=device)

    def advance(self, rates: list[list[float]]) -> Tensor:
        """Take len(rates) steps, each with its row of rates; return the losses before each, (steps, networks)."""
        count = len(rates)
        # A GPU has nothing to do meanwhile. NumPy reads lists four times as fast as torch, and what is copied from here
        # without waiting is first put aside by CUDA.
        table = torch.from_numpy(np.array(rates)).to(self._rates.dtype)
        self._rates[:count].copy_(table, non_blocking=True)
        if not self.batches.full:
            self.batches.fill(self._index[:count], self._weight[:count])
        self._counter.zero_()
        for _ in range(count):
            self._run()
        return self._losses[:count].cpu()

    def _run(self) -> None:
        if self._threads is None:
            self.step()
        else:
            self._threads.run(self.step)

    def step(self) -> None:
        """Gradients, rates, update: the body that a graph captures."""
        self._note(self.gradients())
        self.optimiser.step()

    def _note(self, loss: Tensor) -> None:
        """Set this step's rates, keep its loss (networks,), and count it."""
        self.optimiser.set_rates(self._rates.index_select(0, self._counter)[0])
        self._losses.index_copy_(0, self._counter, loss.reshape(1, -1))
        self._counter.add_(1)

    def gradients(self) -> Tensor:
        """Accumulate the gradients of one batch, chunk by chunk, with fewer points at a time if memory runs out."""
        while True:
            try:
                return self._accumulate()
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                self._shrink(error)

    def _accumulate(self) -> Tensor:
        self.optimiser.zero_grad()
        batch = self._whole
        if batch is None:
            index = self._index.index_select(0, self._counter)[0]
            batch = self.task.batch(index, self._weight.index_select(0, self._counter)[0])
        total: Tensor | None = None
        first, last = self._processes.rows(self.batches.size)
        for start in range(first, last, self.chunk):
            part, stop = batch, min(start + self.chunk, last)
            if stop - start < self.batches.size:
                rows = slice(start, stop)
                part = Batch(batch.coordinates[..., rows, :], batch.target[..., rows, :], batch.weight[..., rows])
            loss = self.task.loss(self.field, part)
            whole = (start, stop) == (0, self.batches.size) and self._penalty is None
            self._backward(loss, whole)
            total = loss.detach() if total is None else total + loss.detach()
        penalty = None if self._penalty is None else self._penalty()
        # A baked field's penalty is a constant; of several processes one adds it.
        if penalty is not None and penalty.requires_grad and self._processes.rank == 0:
            penalty.backward()
        # A process may have no point of a small batch.
        loss = torch.zeros_like(self._losses[0]) if total is None else total.to(self._losses.dtype)
        return self._processes.add(self.optimiser.parameters, loss.reshape(-1))

    def _backward(self, loss: Tensor, whole: bool) -> None:
        """The gradients of a chunk's loss; `whole` says that it is the loss of the step."""
        (loss if loss.dim() == 0 else loss.sum()).backward()

    def _shrink(self, error: BaseException) -> None:
        if self.chunk <= 1:
            raise OutOfMemory(
                "one point at a time does not fit in memory; use a smaller network, or another device"
            ) from error
        self.chunk = -(-self.chunk // 2)
        self.notes.append(f"memory ran out: continuing with {self.chunk:,} points at a time")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on whichever device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "not enough memory" in str(error) or "DefaultCPUAllocator" in str(error)
