"""Checkpoints: all that a fit needs in order to continue as if it had never stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.storage import FileError, file, read_header
from staf.training.batches import Batches
from staf.training.history import History
from staf.training.jittered_batches import JitteredBatches
from staf.training.optim.optimiser import Optimiser
from staf.training.recipe import MOST, Recipe
from staf.training.task import Task

# The name that files of format 1 give to the state of callbacks.
CALLBACKS = "findings/"
# No step, number of seconds or loss of a fit is larger.
LARGEST = 1e300


@dataclass
class Checkpoint:
    """A fit at a step: weights, optimiser state, batch order, best weights so far, history, the state of callbacks.

    `stopped` says why the training was over, where it was the measuring that was interrupted. `about` is the task's
    metadata, so that the weights can be rendered without the data.
    """

    step: int
    seed: int
    elapsed: float
    recipe: Recipe
    fingerprint: str
    architecture: Document | None
    history: History
    field: dict[str, Tensor]
    best: dict[str, Tensor]
    best_loss: float
    best_step: int
    optimiser: dict[str, Tensor]
    generator: Tensor
    position: int
    chunk: int
    notes: list[str]
    callback_state: dict[str, Tensor]
    stopped: str | None
    about: Document = dataclasses.field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write atomically."""
        history = self.history.to_plain()
        tensors = {
            **{f"{file.WEIGHTS}{name}": tensor for name, tensor in self.field.items()},
            **{f"best/{name}": tensor for name, tensor in self.best.items()},
            **{f"optimiser/{name}": tensor for name, tensor in self.optimiser.items()},
            **{f"history/{name}": torch.tensor(column, dtype=torch.float64) for name, column in history.items()},
            **{f"{CALLBACKS}{name}": tensor for name, tensor in self.callback_state.items()},
            "batches/generator": self.generator,
        }
        metadata = {
            **self.about,
            "kind": "checkpoint",
            "recipe": self.recipe.to_plain(),
            **{name: getattr(self, name) for name in _PLAIN},
        }
        file.write(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read and check a checkpoint."""
        header = read_header(path)
        if header.metadata.get("kind") != "checkpoint":
            raise FileError(f"{path} is not a checkpoint of a fit under way, so there is nothing to resume")
        try:
            history = file.read_tensors(header, "history/")
            if any(column.dim() != 1 for column in history.values()):
                raise ValueError("the columns of its history are no lists")
            columns = {name: column.tolist() for name, column in history.items()}
            columns["step"] = [int(step) for step in columns["step"]]
            plain = {name: _checked(name, header.metadata[name]) for name in _PLAIN}
            if len(columns["step"]) != plain["step"]:
                raise ValueError(f"its history has {len(columns['step'])} rows for {plain['step']} steps")
            return cls(
                recipe=Recipe.from_plain(header.metadata["recipe"]),
                history=History.from_plain(columns),
                field=file.read_tensors(header, file.WEIGHTS),
                best=file.read_tensors(header, "best/"),
                optimiser=file.read_tensors(header, "optimiser/"),
                generator=file.read_tensors(header, "batches/")["generator"],
                callback_state=file.read_tensors(header, CALLBACKS),
                **plain,
            )
        except FileError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileError(f"{path} is not a complete checkpoint: {error}") from None

    def restore(
        self, field: nn.Module, optimiser: Optimiser, batches: Batches | JitteredBatches, fingerprint: str
    ) -> None:
        """Put a fit back where this checkpoint was taken."""
        if fingerprint != self.fingerprint:
            raise FileError("the checkpoint was made with other data; resume with the same signal and recipe")
        # Networks of other constants, or other activations, may have tensors of the same names and shapes.
        own = getattr(field, "architecture", None)
        if own != self.architecture:
            raise FileError(f"the checkpoint was made with another network: {self.architecture}, not {own}")
        for name, tensor in field.state_dict().items():
            if name in self.field and self.field[name].dtype != tensor.dtype:
                raise FileError(f"the checkpoint was made with {name} of {self.field[name].dtype}")
        try:
            field.load_state_dict(self.field)
        except RuntimeError as error:
            raise FileError(f"the checkpoint was made with another network: {error}") from None
        shapes, best = ({name: tensor.shape for name, tensor in part.items()} for part in (self.field, self.best))
        if best != shapes or self.position > batches.per_epoch:
            raise FileError("the checkpoint is not complete: its best weights or its place in the epoch are wrong")
        try:
            optimiser.load_tensors(self.optimiser)
            batches.load_state(self.generator, self.position)
        except (ValueError, RuntimeError, TypeError) as error:
            raise FileError(f"the checkpoint does not fit this recipe or device: {error}") from None


_PLAIN: Document = {
    "step": int,
    "seed": int,
    "elapsed": float,
    "fingerprint": str,
    "architecture": dict | None,
    "best_loss": float,
    "best_step": int,
    "position": int,
    "chunk": int,
    "notes": list,
    "stopped": str | None,
}


def _checked(name: str, value: Any) -> Any:
    """An entry of the metadata, of the type and sign that it must have."""
    kind = _PLAIN[name]
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"{name} is of the wrong type")
    # Before the first step the best loss is infinite.
    most = math.inf if name == "best_loss" else LARGEST if kind is float else MOST
    if kind in (int, float) and name != "seed" and not int(name == "chunk") <= value <= most:
        raise ValueError(f"{name} is {value}")
    if name == "seed" and not -(2**63) <= value < 2**64:
        raise ValueError(f"seed is {value}")
    if isinstance(value, list) and not all(isinstance(note, str) for note in value):
        raise TypeError("notes are not texts")
    return float(value) if kind is float else value


def fingerprint(task: Task) -> str:
    """A hash of what a task observes, so that a fit is never resumed on other data."""
    digest = hashlib.sha256(json.dumps(task.metadata(), sort_keys=True).encode())
    observation = task.observation.detach().cpu().contiguous()
    digest.update(observation.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
