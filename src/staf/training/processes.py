"""Several processes that train one network: each takes a share of the points of a step, and their gradients are added.

A loss is a weighted sum over points, so that the sum of the processes' gradients is the gradient of the whole step.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Processes:
    """The processes of a fit and which of them this is.

    >>> Processes(rank=1, world=2).rows(5), Processes().rows(5)
    ((3, 5), (0, 5))
    """

    rank: int = 0
    world: int = 1

    def rows(self, size: int) -> tuple[int, int]:
        """From and up to which of `size` points this process computes."""
        share = -(-size // self.world)
        return min(size, self.rank * share), min(size, (self.rank + 1) * share)

    def add(self, parameters: Sequence[Tensor], loss: Tensor) -> Tensor:
        """Replace each gradient by its sum over the processes; returns that of the loss."""
        if self.world == 1:
            return loss
        from torch import distributed

        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        kinds: dict[torch.dtype, list[Tensor]] = {}
        for parameter in parameters:
            assert parameter.grad is not None
            gradient = torch.view_as_real(parameter.grad) if parameter.grad.is_complex() else parameter.grad
            kinds.setdefault(gradient.dtype, []).append(gradient)
        for gradients in kinds.values():
            # One message for all of them.
            flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
            distributed.all_reduce(flat)
            parts = flat.split([gradient.numel() for gradient in gradients])
            torch._foreach_copy_(gradients, [part.view_as(to) for part, to in zip(parts, gradients, strict=True)])
        total = loss.clone()
        distributed.all_reduce(total)
        return total

    def agree(self, value: float) -> float:
        """The value of the first process, which decides for all: no two clocks are alike."""
        if self.world == 1:
            return value
        from torch import distributed

        said = torch.tensor(value, dtype=torch.float64)
        distributed.broadcast(said, 0)
        return float(said)

    def largest(self, value: int) -> int:
        """The largest value of any process."""
        if self.world == 1:
            return value
        from torch import distributed

        said = torch.tensor(value)
        distributed.all_reduce(said, distributed.ReduceOp.MAX)
        return int(said)


_current = Processes()


def current() -> Processes:
    """The processes that share the fits of this one; this process alone outside of `several_processes`."""
    return _current


def started_together() -> bool:
    """Whether torchrun has started this process beside others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ and "MASTER_ADDR" in os.environ


@contextlib.contextmanager
def several_processes() -> Iterator[Processes]:
    """Within it, the processes that `torchrun` has started train one network together; alone, nothing changes.

    Every process must make the same calls. The result is the same in each of them.
    """
    global _current
    if not started_together():
        yield _current
        return
    from torch import distributed

    before, ours = _current, not distributed.is_initialized()
    if ours:
        distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    _current = Processes(distributed.get_rank(), distributed.get_world_size())
    try:
        yield _current
    finally:
        _current = before
        if ours:
            distributed.destroy_process_group()


def own_device(device: str) -> str:
    """The GPU of this process among those of its machine, where the user named none by its number.

    >>> own_device("cpu")
    'cpu'
    """
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if device == "cuda" and started_together() else device
