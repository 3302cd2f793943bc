"""Many networks of one architecture trained together: stacked weights, batched matrices, one graph."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from staf.nn import parameter_roles
from staf.ops.execution import Execution
from staf.training.prediction import in_chunks, measuring
from staf.training.task import Batch, Predict, Task
from staf.training.worker import Worker

# Up to this many points of all networks together, the data of mini-batches is stacked once; beyond, batch by batch.
STACKED_POINTS = 2**24


class StackedField(nn.Module):
    """B fields of one architecture as one module on `device`, whose tensors have a leading axis of networks.

    >>> from staf.nn import siren
    >>> stack = StackedField([siren(2, 3, width=8, depth=2) for _ in range(4)])
    >>> stack(torch.zeros(4, 10, 2)).shape
    torch.Size([4, 10, 3])
    """

    template: nn.Module

    def __init__(self, fields: Sequence[nn.Module], device: torch.device | None = None) -> None:
        super().__init__()
        roles = parameter_roles(fields[0])
        self.networks = len(fields)
        self.roles: dict[str, str] = {}
        self._names: dict[str, str] = {}
        # Kept out of the module tree: its own tensors are never read.
        object.__setattr__(self, "template", copy.deepcopy(fields[0]).to("meta").train())
        trainable = dict(fields[0].named_parameters())
        # Fields that are one and the same are read once, and their copies are made where they are needed.
        alike = all(field is fields[0] for field in fields)
        states = [field.state_dict(keep_vars=True) for field in (fields[:1] if alike else fields)]
        for name, first in states[0].items():
            stacked = torch.stack([state[name].detach() for state in states]).to(device=device)
            if alike:
                stacked = stacked.repeat(len(fields), *[1] * first.dim())
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

    def member(self, network: int) -> nn.Module:
        """One network as a module of its own, which shares this one's memory and so follows its training."""
        module = copy.deepcopy(self.template)
        own = {name: tensor.detach()[network] for name, tensor in self.tensors().items()}
        module.load_state_dict(own, assign=True)
        return module

    def unstack(self, fields: Sequence[nn.Module]) -> None:
        """Copy each network's tensors into its field, wherever that is."""
        states = [field.state_dict(keep_vars=True) for field in fields]
        with torch.no_grad():
            homes: dict[str, Tensor] = {}
            # All copies from a GPU are under way at once, into pinned memory; then many small ones at home.
            for name, tensor in self.tensors().items():
                device = states[0][name].device
                pinned = tensor.is_cuda and device.type == "cpu"
                home = torch.empty(tensor.shape, dtype=tensor.dtype, device=device, pin_memory=pinned)
                homes[name] = home.copy_(tensor.detach(), non_blocking=True)
            if tensor.is_cuda:
                torch.cuda.current_stream(tensor.device).synchronize()
            for name, home in homes.items():
                torch._foreach_copy_([state[name] for state in states], list(home.unbind()))


class StackedTask:
    """Several tasks with the same loss as one: their batches stacked, shorter ones padded with zero weights."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = list(tasks)
        self.networks = len(self.tasks)
        self.in_features, self.out_features = tasks[0].in_features, tasks[0].out_features
        self.points = max(task.points for task in tasks)
        self._batch: Batch | None = None
        self._is_small = self.networks * self.points <= STACKED_POINTS
        if self._is_small:
            self.whole()

    def _pad(self, batch: Batch) -> Batch:
        missing = self.points - len(batch.target)
        if not missing:
            return batch

        def longer(part: Tensor, axis: int) -> Tensor:
            shape = list(part.shape)
            shape[axis] = missing
            return torch.cat([part, part.new_zeros(shape)], axis)

        # Several coordinates may lead to one target: points are always their last axis but one.
        return Batch(longer(batch.coordinates, -2), longer(batch.target, 0), longer(batch.weight, 0))

    def whole(self) -> Batch:
        """All points of all tasks, (networks, points, ...), made once."""
        if self._batch is None:
            parts = [self._pad(task.batch(None)) for task in self.tasks]
            self._batch = Batch(*map(torch.stack, zip(*parts, strict=True)))
        return self._batch

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """The same points of every task (None: all points)."""
        if index is None:
            return self.whole()
        assert weight is not None
        if not self._is_small:
            parts = [task.batch(index, weight) for task in self.tasks]
            return Batch(*(torch.stack([part[i] for part in parts]) for i in range(3)))
        coordinates, target, _ = self.whole()
        return Batch(coordinates[..., index, :], target[:, index], weight.expand(self.networks, -1))

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        """The loss of each network, (networks,)."""
        assert isinstance(field, StackedField)
        single = self.tasks[0].loss

        def one(tensors: dict[str, Tensor], coordinates: Tensor, target: Tensor, weight: Tensor) -> Tensor:
            module = partial(field.call_one, tensors)
            return single(module, Batch(coordinates, target, weight))  # type: ignore[arg-type]

        return torch.vmap(one)(field.tensors(), *batch)


class Copies(Sequence[nn.Module]):
    """A field and copies of it, which another thread makes from `begin` on, while a GPU is at work.

    >>> from staf.nn import siren
    >>> fields = Copies(siren(2, 3, width=8, depth=2), 3)
    >>> len(fields), torch.equal(fields[2].output.weight, fields[0].output.weight), fields[2] is fields[0]
    (3, True, False)
    """

    def __init__(self, first: nn.Module, count: int) -> None:
        self.first, self._length = first, count
        self._all: Future[list[nn.Module]] | None = None

    def begin(self) -> None:
        """Start to make the copies. Before the GPU has its work, that thread would only hold this one up."""
        if self._all is None:
            worker = Worker()
            self._all = worker.submit(self._make)
            worker.shutdown(wait=False)

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
        if self._all is None:
            # Nothing is gained by a thread that this one waits for.
            self._all = Future()
            self._all.set_result(self._make())
        return self._all.result()[index]


def starts_of(fields: Sequence[nn.Module]) -> Sequence[nn.Module]:
    """The fields as they start; of copies, without waiting until they are made."""
    return [fields.first] * len(fields) if isinstance(fields, Copies) else fields


def predictors(
    stack: StackedField, task: StackedTask, execution: Execution, *, chunk: int, together: bool
) -> tuple[list[Predict], Tensor | None]:
    """Each network's values, as `prediction.predictor` has them; and those of all (networks, points, c), where known.

    `together`, one pass of all networks over all points answers for the points that were fitted: a pass over few points
    takes the host longer than the GPU.
    """
    tensors = stack.tensors()
    how = measuring(execution)
    values: Tensor | None = None
    if together:
        with torch.no_grad(), how.active():
            values = stack(task.whole().coordinates)

    def of(network: int) -> Predict:
        own = {name: tensor[network] for name, tensor in tensors.items()}
        count = task.tasks[network].points

        def predict(coordinates: Tensor) -> Tensor:
            if values is not None and torch.equal(coordinates, task.whole().coordinates[network, :count]):
                return values[network, :count]
            with torch.no_grad(), how.active():
                return in_chunks(lambda part: stack.call_one(own, part), coordinates, chunk)

        return predict

    return [of(network) for network in range(task.networks)], values
