"""Many networks of one architecture trained together: stacked weights, batched matrices, one graph."""

from __future__ import annotations

import copy
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

from staf.nn import parameter_roles
from staf.ops.linear import current_precision, product_precision
from staf.training import interrupt
from staf.training.batches import Batches
from staf.training.capture import CapturedStepper
from staf.training.history import History
from staf.training.loop import CHUNK, Result
from staf.training.optim.optimiser import Optimiser
from staf.training.precision import at_step
from staf.training.prediction import in_chunks
from staf.training.recipe import Recipe
from staf.training.stepper import Stepper
from staf.training.task import Batch, Predict, Task

# A group of captured steps is about this long; the GPU waits between groups while the losses are looked at.
GROUP_SECONDS = 1.0


class StackedField(nn.Module):
    """B fields of one architecture as one module, whose tensors have a leading axis of networks.

    >>> from staf.nn import siren
    >>> stack = StackedField([siren(2, 3, width=8, depth=2) for _ in range(4)])
    >>> stack(torch.zeros(4, 10, 2)).shape
    torch.Size([4, 10, 3])
    """

    template: nn.Module

    def __init__(self, fields: Sequence[nn.Module]) -> None:
        super().__init__()
        roles = parameter_roles(fields[0])
        self.networks = len(fields)
        self.roles: dict[str, str] = {}
        self._names: dict[str, str] = {}
        # Kept out of the module tree: its own tensors are never read.
        object.__setattr__(self, "template", copy.deepcopy(fields[0]).to("meta"))
        trainable = dict(fields[0].named_parameters())
        states = [field.state_dict(keep_vars=True) for field in fields]
        for name, first in states[0].items():
            stacked = torch.stack([state[name].detach() for state in states])
            own = name.replace(".", "/")
            self._names[name] = own
            if name in trainable:
                self.register_parameter(own, nn.Parameter(stacked, requires_grad=first.requires_grad))
                self.roles[own] = roles[name]
            else:
                self.register_buffer(own, stacked)

    def tensors(self) -> dict[str, Tensor]:
        """The stacked tensors under the single field's own names."""
        return {name: getattr(self, own) for name, own in self._names.items()}

    def call_one(self, tensors: dict[str, Tensor], coordinates: Tensor) -> Tensor:
        """One network's values, given that network's tensors; `vmap` maps this over all of them."""
        return torch.func.functional_call(self.template, tensors, (coordinates,))

    def forward(self, coordinates: Tensor) -> Tensor:
        return torch.vmap(self.call_one)(self.tensors(), coordinates)

    def unstack(self, fields: Sequence[nn.Module]) -> None:
        """Copy each network's tensors into its field, wherever that is."""
        states = [field.state_dict(keep_vars=True) for field in fields]
        with torch.no_grad():
            for name, tensor in self.tensors().items():
                # One copy from the GPU, then many small ones at home.
                home = tensor.detach().to(states[0][name].device)
                torch._foreach_copy_([state[name] for state in states], list(home.unbind()))


class StackedTask:
    """Several tasks of one kind as one: their batches stacked, shorter ones padded with zero weights."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = list(tasks)
        self.networks = len(self.tasks)
        self.in_features, self.out_features = tasks[0].in_features, tasks[0].out_features
        parts = [task.batch(None) for task in tasks]
        self.points = max(len(part.target) for part in parts)
        self._batch = Batch(*(torch.stack([self._pad(p[i]) for p in parts]) for i in range(3)))

    def _pad(self, tensor: Tensor) -> Tensor:
        missing = self.points - len(tensor)
        return torch.cat([tensor, tensor.new_zeros(missing, *tensor.shape[1:])]) if missing else tensor

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            return self._batch
        assert weight is not None
        coordinates, target, _ = self._batch
        return Batch(coordinates[:, index], target[:, index], weight.expand(self.networks, -1))

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        """The loss of each network, (networks,)."""
        assert isinstance(field, StackedField)
        single = self.tasks[0].loss

        def one(tensors: dict[str, Tensor], coordinates: Tensor, target: Tensor, weight: Tensor) -> Tensor:
            module = _Bound(field, tensors)
            return single(module, Batch(coordinates, target, weight))  # type: ignore[arg-type]

        return torch.vmap(one)(field.tensors(), *batch)


class _Bound:
    """A field as a function, for one network's tensors."""

    def __init__(self, stack: StackedField, tensors: dict[str, Tensor]) -> None:
        self.stack, self.tensors = stack, tensors

    def __call__(self, coordinates: Tensor) -> Tensor:
        return self.stack.call_one(self.tensors, coordinates)


Step = Callable[[int, int, float, float], None]


class Copies(Sequence[nn.Module]):
    """A field and copies of it, which are made by another thread while a GPU is at work.

    >>> from staf.nn import siren
    >>> fields = Copies(siren(2, 3, width=8, depth=2), 3)
    >>> len(fields), torch.equal(fields[2].output.weight, fields[0].output.weight), fields[2] is fields[0]
    (3, True, False)
    """

    def __init__(self, first: nn.Module, count: int) -> None:
        self.first, self._length = first, count
        pool = ThreadPoolExecutor(1)
        self._all = pool.submit(self._make)
        pool.shutdown(wait=False)

    def _make(self) -> list[nn.Module]:
        # Every part has a dozen empty tables of hooks, which would take most of the time to copy.
        attributes = [value for part in self.first.modules() for value in vars(part).values()]
        tables = [value for value in attributes if isinstance(value, OrderedDict) and not value]
        copies = [
            copy.deepcopy(self.first, {id(table): OrderedDict() for table in tables}) for _ in range(self._length - 1)
        ]
        return [self.first, *copies]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._all.result()[index]


def run_many(
    tasks: Sequence[Task], fields: Sequence[nn.Module], recipe: Recipe, *, seed: int = 0, on_step: Step | None = None
) -> list[Result]:
    """Train field i on task i, all at once; each as `run` would train it alone.

    Training runs where the tasks are; fields are changed in place, wherever they are. A network that diverges keeps the
    weights of its best loss and says so in its result; the others do not notice, because no number passes between
    networks. `on_step(step, total, mean_loss, seconds)` is called after each group of steps.
    """
    if recipe.steps is None and recipe.epochs is None:
        raise ValueError("many fits at once need a recipe with steps or epochs, not seconds alone")
    starts = [fields.first] * len(fields) if isinstance(fields, Copies) else fields
    if any(hasattr(field, "bind") for field in starts):
        raise ValueError("networks that read their target (INCODE) are fitted one at a time")
    task = StackedTask(tasks)
    if recipe.batch is not None and len({t.points for t in tasks}) > 1:
        raise ValueError("mini-batches of many signals need signals of one size; use the full batch for mixed sizes")
    device = task.batch(None).target.device
    stack = StackedField(starts).to(device)
    optimiser = Optimiser(stack, recipe, roles=stack.roles, stacked=True)
    batches = Batches(task.points, recipe.batch_size(task.points), torch.Generator(device).manual_seed(seed))
    total = recipe.total_steps(task.points)
    assert total is not None
    kind, group = (CapturedStepper, 100) if device.type == "cuda" else (Stepper, 1)
    # Memory is bounded by how many networks the caller puts together; a batch is never split between networks.
    stepper = kind(task, stack, optimiser, batches, group=group, chunk=task.points)  # type: ignore[arg-type]
    keeper = _Keeper(stack, patience=max(50, total // 10))
    histories = [History() for _ in tasks]
    started, step, step_seconds = time.monotonic(), 0, GROUP_SECONDS / 2
    with interrupt.watch() as interruption:
        while step < total:
            count = min(stepper.group, max(1, int(GROUP_SECONDS / step_seconds)), total - step)
            multipliers = [recipe.schedule((step + i) / total) for i in range(count)]
            frozen = recipe.freeze_activations_from
            rates = [optimiser.rates(m, frozen is not None and step + i >= frozen) for i, m in enumerate(multipliers)]
            began = time.monotonic()
            with product_precision(at_step(recipe.precision, step / total)):
                losses = stepper.advance(rates)
            now = time.monotonic()
            step_seconds = max((now - began) / count, 1e-6)
            for network, history in enumerate(histories):
                for i, loss in enumerate(losses[:, network].tolist()):
                    history.append(step + i, loss, multipliers[i], now - started)
            keeper.look(step, losses)
            step += count
            if on_step is not None:
                on_step(step, total, float(losses[-1].nanmean()), now - started)
            if interruption.signal_number is not None:
                raise interrupt.Interrupted("stopped", None, interruption.signal_number, step)
    seconds = time.monotonic() - started
    troubles = [keeper.finish(network) for network in range(task.networks)]
    stack.unstack(fields)
    stack.template.eval()
    predicts = _predictors(stack, task, together=recipe.batch is None)
    return [
        Result(
            field,
            single.evaluate(predict),
            history,
            recipe,
            seed,
            seconds,
            step,
            trouble or "finished",
            [*stepper.notes, *([trouble] if trouble else [])],
        )
        for single, field, history, trouble, predict in zip(tasks, fields, histories, troubles, predicts, strict=True)
    ]


def _predictors(stack: StackedField, task: StackedTask, *, together: bool) -> list[Predict]:
    """Each network's values, as `prediction.predictor` has them.

    `together`, one pass of all networks over all points answers for the points that were fitted: a pass over few points
    takes the host longer than the GPU.
    """
    tensors = stack.tensors()
    precision = current_precision() or "bf16x3"
    values: Tensor | None = None
    if together:
        with torch.no_grad(), product_precision(precision):
            values = stack(task.batch(None).coordinates)

    def of(network: int) -> Predict:
        own = {name: tensor[network] for name, tensor in tensors.items()}
        count = task.tasks[network].points
        known = task.batch(None).coordinates[network, :count]

        def predict(coordinates: Tensor) -> Tensor:
            if values is not None and torch.equal(coordinates, known):
                return values[network, :count]
            chunk = CHUNK.get(coordinates.device.type, CHUNK["cuda"])
            with torch.no_grad(), product_precision(precision):
                return in_chunks(lambda part: stack.call_one(own, part), coordinates, chunk)

        return predict

    return [of(network) for network in range(task.networks)]


class _Keeper:
    """The best weights of each network, and which networks have diverged; as `keeper.Keeper`, for all at once."""

    def __init__(self, stack: StackedField, patience: int) -> None:
        self.stack, self.patience = stack, patience
        self.best = torch.full((stack.networks,), math.inf)
        self.best_step = [0] * stack.networks
        self.first = torch.full((stack.networks,), math.nan)
        self.trouble: dict[int, str] = {}
        self.weights = [p.detach().clone() for p in stack.parameters()]
        self.candidate = [p.detach().clone() for p in stack.parameters()]

    def look(self, step: int, losses: Tensor) -> None:
        start = losses[0]
        self.first = torch.where(self.first.isnan(), start, self.first)
        better = start <= self.best
        self.best = torch.where(better, start, self.best)
        chosen = better.to(self.weights[0].device)
        for kept, candidate in zip(self.weights, self.candidate, strict=True):
            kept.copy_(torch.where(chosen.view(-1, *[1] * (kept.dim() - 1)), candidate, kept))
        for candidate, parameter in zip(self.candidate, self.stack.parameters(), strict=True):
            candidate.copy_(parameter.detach())
        for network in torch.nonzero(better).flatten().tolist():
            self.best_step[network] = step
        bad = (~losses.isfinite() | (losses > (10 * self.first).clamp(min=1.0))).any(0)
        for network in torch.nonzero(bad).flatten().tolist():
            if network not in self.trouble:
                worst = losses[:, network].max().item()
                self.trouble[network] = f"diverged at step {step}: the loss became {worst:.3g}"
        last = step + len(losses) - 1
        for network in torch.nonzero(losses.amin(0) > 100 * self.best).flatten().tolist():
            if network not in self.trouble and last - self.best_step[network] > self.patience:
                self.trouble[network] = f"diverged at step {last}: the loss stayed near {losses[-1, network]:.3g}"

    def finish(self, network: int) -> str | None:
        trouble = self.trouble.get(network)
        if trouble is None:
            return None
        with torch.no_grad():
            for parameter, kept in zip(self.stack.parameters(), self.weights, strict=True):
                parameter[network] = kept[network]
        return f"{trouble}; the weights of step {self.best_step[network]} are kept"
