"""A folder of networks, as `fit_many` writes it, read back as stacked weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from staf.storage.file import FieldMetadata, FileError, build_empty, compare_shapes, read_header, read_tensors
from staf.storage.folder import INDEX, FieldFolder


@dataclass(frozen=True)
class FieldSet:
    """Networks of one architecture: each of `tensors` has a leading axis of networks, in the order of `names`."""

    names: list[str]
    architecture: dict[str, Any]
    tensors: dict[str, Tensor]
    metrics: list[dict[str, float]]

    def __len__(self) -> int:
        return len(self.names)

    def matrix(self) -> Tensor:
        """All weights of each network in a row, (networks, parameters), in the order of `tensors`.

        Complex weights are pairs of reals.
        """
        parts = [torch.view_as_real(t) if t.is_complex() else t for t in self.tensors.values()]
        return torch.cat([part.reshape(len(self), -1) for part in parts], dim=1)


def load_many(folder: str | os.PathLike[str], names: Sequence[str] | None = None) -> FieldSet:
    """The networks listed in `folder/index.json`, or those of them named, stacked.

    All must have the same architecture; a folder of grey and colour images has two, so name those of one.

    >>> import numpy as np, staf, tempfile
    >>> from staf.storage.field_set import load_many
    >>> folder = tempfile.mkdtemp()
    >>> pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 200)]
    >>> _ = staf.fit_many(pictures, steps=2, out=folder, progress=False)
    >>> load_many(folder).matrix().shape
    torch.Size([2, 198975])
    """
    opened = FieldFolder(folder)
    listed = opened.files()
    chosen = list(listed) if names is None else list(names)
    unknown = [name for name in chosen if name not in listed]
    if unknown:
        raise ValueError(f"names must be listed in {opened.path / INDEX}, got {', '.join(map(repr, unknown))}")
    if not chosen:
        raise FileError(f"{folder} lists no fitted fields")
    rows, metrics = [], []
    first: dict[str, Any] | None = None
    expected: dict[str, Tensor] = {}
    for name in chosen:
        header = read_header(listed[name])
        architecture = header.metadata.get("architecture")
        if first is None and architecture is not None:
            first, expected = architecture, build_empty(header).state_dict()
        if architecture is None or architecture != first:
            raise FileError(
                f"{header.path} is another network than {chosen[0]}: stack fields of one architecture, by names=[...]"
            )
        compare_shapes(header, expected)
        rows.append(read_tensors(header))
        metrics.append(FieldMetadata.of(header).metrics)
    assert first is not None
    stacked = {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
    return FieldSet(chosen, first, stacked, metrics)
