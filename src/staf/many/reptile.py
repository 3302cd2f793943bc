"""A start that moves to the mean end of fits from it: Reptile, by the steps of the trainer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from staf.training.assembly import assemble
from staf.training.recipe import Recipe
from staf.training.stacked import StackedField, StackedTask
from staf.training.task import Task


class Reptile:
    """Fits some signals at a time from one start, with a recipe, and moves the start (Nichol et al., 2018):

        theta <- theta + (1 - t) (mean_i phi_i - theta),

    where phi_i is the end of the fit of signal i from theta and t the fraction of the rounds that is done. The fits are
    those of `staf.fit_many`: one stack of networks and, on a GPU, one captured step serve all rounds, so that a round
    costs what its steps cost.
    """

    def __init__(self, field: nn.Module, tasks: Sequence[Task], recipe: Recipe, seed: int) -> None:
        self._recipe = recipe
        self._task = StackedTask(tasks)
        self._stack = StackedField([field] * len(tasks)).to(self._task.whole().target.device)
        self._stepper = assemble(self._task, self._stack, recipe, seed=seed)
        self._optimiser = self._stepper.optimiser
        # What is not here yet is made by the first step, and starts from zero.
        self._fresh = {name: tensor.clone() for name, tensor in self._optimiser.tensors().items()}
        self.start = {name: tensor.detach()[0].clone() for name, tensor in self._stack.tensors().items()}

    @torch.no_grad()
    def round(self, tasks: Sequence[Task], done: float) -> float:
        """Fit as many signals as at the beginning, of the same size, and move the start; their mean loss at the end.

        `done` is the fraction of the rounds before this one. Fits that have diverged have no part in the mean.
        """
        for place, task in zip(self._task.whole().target, tasks, strict=True):
            place.copy_(task.batch(None).target)
        for name, tensor in self._stack.tensors().items():
            tensor.copy_(self.start[name])
        for name, tensor in self._optimiser.tensors().items():
            tensor.copy_(self._fresh[name]) if name in self._fresh else tensor.zero_()
        losses = self._fit()
        finite = losses.isfinite()
        if finite.any():
            self._move(finite.to(self._task.whole().target), 1 - done)
        return float(losses[finite].mean())

    def _fit(self) -> Tensor:
        """All steps of a fit; the losses before the last one, (networks,)."""
        total = self._recipe.total_steps(self._task.points) or 1
        rates = [self._optimiser.rates(self._recipe.schedule(step / total)) for step in range(total)]
        with torch.enable_grad():
            for first in range(0, total, self._stepper.group):
                losses = self._stepper.advance(rates[first : first + self._stepper.group])
        return losses[-1]

    def _move(self, share: Tensor, part: float) -> None:
        """A part of the way to the mean of the networks that have a share."""
        share = share / share.sum()
        for name, tensor in self._stack.tensors().items():
            if tensor.is_floating_point() or tensor.is_complex():
                mean = torch.tensordot(share.to(tensor.dtype), tensor.detach().nan_to_num(), dims=1)
                self.start[name].lerp_(mean, part)

    def field(self, module: nn.Module) -> nn.Module:
        """A module of the same architecture with the start's weights."""
        module.load_state_dict(self.start)
        return module
