"""Checkpoints: all that a fit needs in order to go on as if it had never stopped."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from . import file
from .batches import Batches
from .history import History
from .optimiser import Optimiser
from .recipe import Recipe
from .task import Task


@dataclass
class Checkpoint:
    """A fit at a step: weights, optimiser state, batch order, best weights so far, history."""

    step: int
    seed: int
    elapsed: float
    recipe: Recipe
    fingerprint: str
    architecture: dict[str, Any] | None
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write atomically."""
        history = self.history.to_plain()
        tensors = {
            **{f"field/{name}": tensor for name, tensor in self.field.items()},
            **{f"best/{name}": tensor for name, tensor in self.best.items()},
            **{f"optimiser/{name}": tensor for name, tensor in self.optimiser.items()},
            **{f"history/{name}": torch.tensor(column, dtype=torch.float64) for name, column in history.items()},
            "batches/generator": self.generator,
        }
        metadata = {
            "kind": "checkpoint",
            "recipe": self.recipe.to_plain(),
            **{name: getattr(self, name) for name in _PLAIN},
        }
        file.write(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read and check a checkpoint."""
        header = file.read_header(path)
        if header.metadata.get("kind") != "checkpoint":
            raise file.FileError(f"{path} is not a checkpoint of a fit under way, so there is nothing to resume")
        try:
            columns = {name: column.tolist() for name, column in file.read_tensors(header, "history/").items()}
            columns["step"] = [int(step) for step in columns["step"]]
            return cls(
                recipe=Recipe.from_plain(header.metadata["recipe"]),
                history=History.from_plain(columns),
                field=file.read_tensors(header, "field/"),
                best=file.read_tensors(header, "best/"),
                optimiser=file.read_tensors(header, "optimiser/"),
                generator=file.read_tensors(header, "batches/")["generator"],
                **{name: header.metadata[name] for name in _PLAIN},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise file.FileError(f"{path} is not a complete checkpoint: {error}") from None

    def restore(self, field: nn.Module, optimiser: Optimiser, batches: Batches, fingerprint: str) -> None:
        """Put a fit back where this checkpoint was taken."""
        if fingerprint != self.fingerprint:
            raise file.FileError("the checkpoint was made with other data; resume with the same signal and recipe")
        try:
            field.load_state_dict(self.field)
        except RuntimeError as error:
            raise file.FileError(f"the checkpoint was made with another network: {error}") from None
        optimiser.load_tensors(self.optimiser)
        batches.load_state(self.generator, self.position)


_PLAIN = (
    "step",
    "seed",
    "elapsed",
    "fingerprint",
    "architecture",
    "best_loss",
    "best_step",
    "position",
    "chunk",
    "notes",
)


def fingerprint(task: Task) -> str:
    """A hash of what a task observes, so that a fit is never resumed on other data."""
    digest = hashlib.sha256(json.dumps(task.metadata(), sort_keys=True).encode())
    observation = task.observation.detach().cpu().contiguous()
    digest.update(observation.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
