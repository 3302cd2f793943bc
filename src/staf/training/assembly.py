"""A field, a task and a recipe, assembled into what takes steps."""

from __future__ import annotations

import torch
from torch import nn

from staf.training.batches import Batches
from staf.training.capture import CapturedStepper
from staf.training.optim.optimiser import Optimiser
from staf.training.recipe import Recipe
from staf.training.stacked import StackedField, StackedTask
from staf.training.stepper import Stepper, points_at_once
from staf.training.task import Task

# Steps that a GPU takes before the host looks at their losses, at most.
CAPTURED_GROUP = 100


def assemble(
    task: Task | StackedTask, field: nn.Module, recipe: Recipe, *, seed: int = 0, chunk: int | None = None
) -> Stepper:
    """Optimiser, batches in the order of `seed`, and the stepper for the field's device: captured on a GPU.

    A task that has a method `batches(size, generator)` draws its mini-batches itself.

    A step handles `chunk` points at a time, by default as many as `points_at_once` allows; a batch of several networks
    is not split, because the caller bounds its memory by their number, nor that of a task whose attribute `whole` is
    true, because its loss compares all points with one another.

    >>> from staf.nn import siren
    >>> from staf.kinds import Image
    >>> from staf.tasks import Reconstruction
    >>> import numpy as np
    >>> stepper = assemble(Reconstruction(Image(np.zeros((4, 4)))), siren(2, 1, width=8, depth=2), Recipe(steps=1))
    >>> stepper.advance([stepper.optimiser.rates(1.0)]).shape
    torch.Size([1, 1])
    """
    if isinstance(field, StackedField):
        optimiser = Optimiser(field, recipe, roles=field.roles, stacked=True)
        chunk = task.points
    else:
        optimiser = Optimiser(field, recipe)
        chunk = task.points if getattr(task, "whole", False) else chunk
    device = optimiser.parameters[0].device
    size, generator = recipe.batch_size(task.points), torch.Generator(device).manual_seed(seed)
    own = getattr(task, "batches", None)
    batches = own(size, generator) if own is not None and size < task.points else Batches(task.points, size, generator)
    kind, group = (CapturedStepper, CAPTURED_GROUP) if device.type == "cuda" else (Stepper, 1)
    return kind(task, field, optimiser, batches, group=group, chunk=chunk or points_at_once(device))
