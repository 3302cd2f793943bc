"""A field's values at many points or few, without gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from staf.ops.execution import DEFAULT, Execution
from staf.ops.linear import current_precision
from staf.training.replay import parts_of, replayed
from staf.training.task import Predict


def predictor(module: nn.Module, chunk: int, execution: Execution = DEFAULT) -> Predict:
    """Evaluate a field without gradients, `chunk` points at a time, so that memory stays bounded.

    A module is put in evaluation mode for the pass (dropout off, stored means of batch normalisation).

    On CUDA the hidden products are split-bfloat16, whose error of 4e-6 no measure below 100 dB can see, unless
    `execution` or a `product_precision` block around the call names another precision. A pass of the library's own
    networks is recorded there when it is asked for again, and replayed (`replay`).

    >>> predictor(nn.Linear(2, 3), 4)(torch.zeros(10, 2)).shape
    torch.Size([10, 3])
    """

    def predict(coordinates: Tensor) -> Tensor:
        with torch.no_grad(), measuring(execution).active(), _evaluating(module):
            return in_chunks(lambda part: replayed(module, part), coordinates, chunk)

    return predict


def measuring(execution: Execution) -> Execution:
    """An execution for values without gradients: its own precision, that of the block around, or split-bfloat16."""
    return execution.otherwise(current_precision() or "bf16x3")


def in_chunks(function: Callable[[Tensor], Tensor], coordinates: Tensor, chunk: int) -> Tensor:
    """`function` of the coordinates, at most `chunk` of them at a time.

    >>> in_chunks(lambda x: 2 * x, torch.ones(5, 1), 2).flatten().tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1 point, got {chunk}")
    if len(coordinates) <= chunk:
        return function(coordinates)
    return torch.cat([function(coordinates[i : i + chunk]) for i in range(0, len(coordinates), chunk)])


@contextlib.contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    training = [part for part in parts_of(module) if part.training]
    _set_training(training, False)
    try:
        yield
    finally:
        _set_training(training, True)


def _set_training(parts: Sequence[nn.Module], value: bool) -> None:
    for part in parts:
        own = part.__dict__
        # A module's own assignment looks for parameters first, which takes longer than all else before a pass.
        if "training" in own:
            own["training"] = value
        else:
            part.training = value
