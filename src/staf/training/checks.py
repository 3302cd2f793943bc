"""What is refused before a fit begins: a field of other shapes, another budget, metadata that would not be readable."""

from __future__ import annotations

from numbers import Integral

import torch
from torch import Tensor, nn

from staf.storage.file import RESERVED
from staf.storage.header import FileError
from staf.training.prediction import predictor
from staf.training.recipe import Recipe
from staf.training.task import Task


def check_seed(seed: object) -> int:
    """A seed as the generators take it.

    >>> check_seed(1.5)
    Traceback (most recent call last):
    ValueError: seed must be a whole number from -2^63 to 2^64 - 1, got 1.5
    """
    whole = int(seed) if isinstance(seed, Integral) and not isinstance(seed, bool) else None
    if whole is None or not -(2**63) <= whole < 2**64:
        shown = repr(seed) if whole is None else f"one of {len(str(abs(whole)))} digits"
        raise ValueError(f"seed must be a whole number from -2^63 to 2^64 - 1, got {shown}")
    return whole


def check_budget(path: object, saved: Recipe, **given: float | None) -> None:
    """A fit is resumed with the budget it began with: another one would have had another schedule."""
    for name, value in given.items():
        was = getattr(saved, name)
        if value is not None and value != was:
            raise FileError(f"{path} was made with {name}={was}, got {name}={value}: leave {name} out to continue")


def check_trainable(field: nn.Module) -> None:
    """A field must have a parameter that training may change."""
    if not any(parameter.requires_grad for parameter in field.parameters()):
        raise ValueError("field must have trainable parameters, got a module without any")


def check_features(field: nn.Module, task: Task) -> None:
    """A field's coordinates and values must be as many as the task's."""
    architecture = getattr(field, "architecture", None)
    if architecture is None:
        if not hasattr(field, "bind"):
            _check_foreign(field, task)
        return
    arguments = architecture["arguments"]
    expected, got = (task.in_features, task.out_features), (arguments["in_features"], arguments["out_features"])
    if expected != got:
        raise ValueError(
            f"the field maps {got[0]} coordinates to {got[1]} values, and the signal needs {expected[0]} to "
            f"{expected[1]}"
        )


def check_metadata(task: Task) -> None:
    """A task's own metadata may not have the names that the file of a field uses itself."""
    taken = sorted(RESERVED & set(task.metadata()))
    if taken:
        raise ValueError(
            f"metadata() of {type(task).__name__} must not use the reserved name {taken[0]!r}: give it another one"
        )


def _check_foreign(field: nn.Module, task: Task) -> None:
    """Try a module of the user's on two points, so that a wrong shape is named before training, not broadcast."""
    first = next(field.parameters(), None)
    points = torch.zeros(2, task.in_features, device=None if first is None else first.device)
    try:
        values = predictor(field, 2)(points)
    except RuntimeError as error:
        raise ValueError(
            f"the field must map float32 coordinates (n, {task.in_features}) to values, and fails: {error}"
        ) from error
    if not isinstance(values, Tensor):
        raise TypeError(f"the field must return a tensor (n, {task.out_features}), got {type(values).__name__}")
    if values.shape != (2, task.out_features):
        raise ValueError(
            f"the field maps (2, {task.in_features}) coordinates to shape {tuple(values.shape)}, and the signal needs "
            f"(2, {task.out_features})"
        )
