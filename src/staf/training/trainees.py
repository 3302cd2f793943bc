"""What a trainer trains: one network, which is the user's module itself, or several as one stack."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from staf.ops.execution import Execution
from staf.training.prediction import predictor
from staf.training.recipe import Recipe
from staf.training.stacked import Copies, StackedField, StackedTask, predictors, starts_of
from staf.training.stepper import points_at_once
from staf.training.task import Predict, Task


class OneNetwork:
    """The module of the user, trained where it is or on the execution's device, and put back where it was."""

    networks = 1

    def __init__(self, task: Task, module: nn.Module, execution: Execution) -> None:
        first = next(module.parameters(), None)
        if first is None:
            raise ValueError(f"the field has no parameters to train: {type(module).__name__}")
        self._home = first.device
        self.device = torch.device(execution.device) if execution.device is not None else first.device
        self.task = task if execution.device is None else task.to(self.device)
        self.module = module.to(self.device).train()
        bind = getattr(module, "bind", None)
        if bind is not None:
            bind(self.task)
        self.tasks = [self.task]

    def chunk(self, of_steps: int) -> int:
        """How many points are measured at once, given how many of the task's a step takes at once.

        A step evaluates the field at `points_each` points for each of the task's, or at `points_of_step` in all.
        """
        each, of_step = getattr(self.task, "points_each", 1), getattr(self.task, "points_of_step", 0)
        return max(of_steps * int(each), int(of_step))

    def tensors(self) -> list[Tensor]:
        """All that changes in training, with a leading axis of one network, in the module's own memory."""
        return [tensor[None] for tensor in self.module.state_dict().values() if isinstance(tensor, Tensor)]

    def member(self, network: int) -> nn.Module:
        return self.module

    def prepare(self) -> None:
        """Begin what another thread can do while steps are taken."""

    def finish(self, recipe: Recipe, chunk: int, execution: Execution) -> list[Predict]:
        """Put the module in evaluation mode and return what measures it."""
        self.module.eval()
        return [predictor(self.module, chunk, execution)]

    def evaluate(self, predicts: Sequence[Predict]) -> list[dict[str, float]]:
        """The measures of the network."""
        return [self.task.evaluate(predicts[0])]

    def leave(self) -> None:
        """Put the module back where it was."""
        self.module.to(self._home)


class SeveralNetworks:
    """Fields of one architecture trained together, where their tasks are or on the execution's device.

    Networks do not affect each other. The fields may be anywhere; each gets its weights at the end.
    """

    def __init__(
        self, tasks: Sequence[Task], fields: Sequence[nn.Module], recipe: Recipe, execution: Execution
    ) -> None:
        self.networks = len(tasks)
        if recipe.batch is not None and len({task.points for task in tasks}) > 1:
            raise ValueError(
                "mini-batches of several signals need signals of one size; use the full batch for mixed sizes"
            )
        if execution.device is not None:
            tasks = [task.to(execution.device) for task in tasks]
        self.task, self.tasks = StackedTask(tasks), tasks
        self.device = torch.device(execution.device or self.task.whole().target.device)
        self.module = StackedField(starts_of(fields), self.device)
        self._fields = fields
        self._members: dict[int, nn.Module] = {}
        self._values: Tensor | None = None

    def chunk(self, of_steps: int) -> int:
        return points_at_once(self.device)

    def tensors(self) -> list[Tensor]:
        return list(self.module.parameters())

    def prepare(self) -> None:
        if isinstance(self._fields, Copies):
            self._fields.begin()

    def member(self, network: int) -> nn.Module:
        if network not in self._members:
            self._members[network] = self.module.member(network)
        return self._members[network]

    def finish(self, recipe: Recipe, chunk: int, execution: Execution) -> list[Predict]:
        self.module.unstack(self._fields)
        for field in self._fields:
            field.eval()
        self.module.template.eval()
        predicts, self._values = predictors(
            self.module, self.task, execution, chunk=chunk, together=recipe.batch is None
        )
        return predicts

    def evaluate(self, predicts: Sequence[Predict]) -> list[dict[str, float]]:
        """The measures of each network: all at once where the task can, which saves a GPU many small calls."""
        first, *others = self.tasks
        each = getattr(first, "evaluate_each", None)
        alike = len({(type(task), task.points) for task in self.tasks}) == 1
        found = each(others, self._values) if each is not None and alike and self._values is not None else None
        if found is not None:
            return found
        return [task.evaluate(predict) for task, predict in zip(self.tasks, predicts, strict=True)]

    def leave(self) -> None: ...


def must_be_alone(part: nn.Module | Task) -> bool:
    """Whether a field reads its task or adds to the loss (INCODE), or a task has callbacks: they are trained alone."""
    return any(hasattr(part, name) for name in ("bind", "penalty", "callbacks"))
