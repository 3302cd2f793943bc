"""The protocol of tasks; the training loop uses nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from staf._documents import Document


class Batch(NamedTuple):
    """Points of one step. Weights sum to one over a full batch; padding has weight zero."""

    coordinates: Tensor
    target: Tensor
    weight: Tensor


Predict = Callable[[Tensor], Tensor]
# What a task measures one by one, such as "view", how many of them it has measured, and of how many.
Pieces = tuple[str, int, int]


@runtime_checkable
class Task(Protocol):
    """A problem to solve: signal + operator + loss + how to evaluate it.

    A task can also have

    - `callbacks()`, which the trainer calls before those of the user;
    - `confirm(predict)`, which says whether a target is reached, if `evaluate` uses data that training may not see;
    - `evaluate_each(others, values)`, which evaluates several tasks at once, or returns None;
    - `pieces()`, the progress of `evaluate`, if that uses other points than those of the task;
    - `step_shape`, which changes (only between steps) if the shapes of a step's tensors change.
    """

    in_features: int
    out_features: int

    @property
    def points(self) -> int:
        """How many observations there are; batches index into them."""
        ...

    @property
    def observation(self) -> Tensor:
        """The observed data in grid layout, channels first, which INCODE's harmoniser reads."""
        ...

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """The points of a flat index (None: all). `weight` defaults to 1/n each."""
        ...

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        """The weighted sum of errors, so that the losses of a batch's chunks add up to the batch's."""
        ...

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """Metrics of one forward pass over all points, clamped; `predict` maps coordinates to values."""
        ...

    def metadata(self) -> Document:
        """JSON-able data that a saved field needs to render without the signal."""
        ...

    def to(self, device: torch.device | str) -> Task: ...


def missing_members(source: object) -> list[str]:
    """The members of `Task` that an object lacks, in alphabetical order.

    >>> class Mine:
    ...     in_features, out_features, points, observation = 2, 1, 0, None
    ...     loss = batch = evaluate = metadata = None
    >>> missing_members(Mine())
    ['to']
    """
    members = {name for name in {**Task.__annotations__, **vars(Task)} if not name.startswith("_")}
    return sorted(name for name in members if not hasattr(source, name))
