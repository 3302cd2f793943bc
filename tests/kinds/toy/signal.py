from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from staf.signals import Signal, SignalError, View
from staf.signals.base import as_array
from staf.signals.rendering import render_grid, window_grid
from staf.tasks import Reconstruction


class Toy(Signal):
    """Numbers along one axis."""

    kind = "toy"
    in_features = out_features = 1
    value_range = (0.0, 10.0)

    def __init__(self, numbers: np.ndarray | None, count: int | None = None, name: str = "toy") -> None:
        self.numbers, self.count = numbers, len(numbers) if numbers is not None else count
        self.name, self.source, self.notes = name, None, []

    @property
    def shape(self) -> tuple[int]:
        return (self.count,)

    def values(self) -> Tensor:
        return torch.from_numpy(self.numbers.astype(np.float32))[:, None]

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Toy:
        return Toy(values.cpu().clamp(0, 10).numpy()[:, 0], name=self.name)

    with_floats = from_values

    def metadata(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "shape": list(self.shape)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Toy:
        return cls(None, int(metadata["shape"][0]), str(metadata["name"]))

    def render(self, predict, *, scale=None, convention="centres", device=None) -> Toy:
        output = window_grid(self.shape, [(0, self.count)], scale=scale, convention=convention)
        return Toy(render_grid(predict, output, device=device)[:, 0], name=self.name)

    def save(self, path) -> Path:
        Path(path).write_text("TOY\n" + "".join(f"{number}\n" for number in self.numbers))
        return Path(path)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return as_array(self.numbers, dtype, copy)

    def task(self, convention="centres") -> Reconstruction:
        return Reconstruction(self, convention)

    @property
    def view(self) -> ToyView:
        return ToyView(self)


class ToyView(View[Toy]):
    noun = "list of numbers"
    suffix = ".toy"

    def suffixes(self) -> tuple[str, ...]:
        return (".toy",)

    def report_section(self, reconstruction: Toy) -> str:
        return f"<section><h2>Toy</h2><p>{len(reconstruction.numbers)} numbers beside {self.signal.count}</p></section>"


def read_toy(path: Path, limit: int) -> Toy:
    numbers = np.array([float(line) for line in path.read_text().splitlines()[1:]])
    if len(numbers) > limit:
        raise SignalError(f"it holds {len(numbers)} numbers, more than {limit}")
    return Toy(numbers)
