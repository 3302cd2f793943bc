"""Sets of fitted fields as data: a torch Dataset over shards or over a folder of files, and stacked weights."""

from __future__ import annotations

import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from staf._documents import Document
from staf.storage.file import FieldMetadata, build_empty, compare_shapes, read_tensors
from staf.storage.folder import INDEX, FieldFolder
from staf.storage.header import FileError, Header, read_header
from staf.storage.sets.folder import SET, SetFolder, entries_of, read_settings
from staf.storage.sets.index import Entry, SetIndex
from staf.storage.sets.place import Place
from staf.storage.sets.shard import Finished, Shard

# Shards that a process keeps mapped at once.
OPEN_SHARDS = 128

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class StackedFields:
    """Stacked networks of one architecture: each of `tensors` has a leading axis, in the order of `names`."""

    names: list[str]
    architecture: Document
    tensors: Weights
    metrics: list[dict[str, float]]

    def __len__(self) -> int:
        return len(self.names)

    def matrix(self) -> Tensor:
        """All weights of each network in a row, (networks, parameters), in the order of `tensors`.

        Complex weights are pairs of reals.
        """
        parts = [torch.view_as_real(t) if t.is_complex() else t for t in self.tensors.values()]
        return torch.cat([part.reshape(len(self), -1) for part in parts], dim=1)


class FieldSet(Dataset[Any]):
    """The fields that `fit_many(out=...)` wrote to a folder or a URL, as a torch `Dataset`.

    An item is a dictionary of the field's tensors, so a `DataLoader` makes batches of stacked weights. With
    `target="digit"`, an item is a pair: the tensors, and the tag with this name. Data are read when they are needed;
    local shards are memory-mapped. `entries` has the name, metrics, tags and signal of each field.

    >>> import numpy as np, staf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pictures = [np.full((4, 4), value, dtype=np.uint8) for value in (10, 100, 200)]
    >>> tags = [{"grey": value} for value in (10, 100, 200)]
    >>> _ = staf.fit_many(pictures, steps=2, out=folder, shards=True, tags=tags, progress=False)
    >>> fields = staf.FieldSet(folder, target="grey").where(lambda entry: entry.tags["grey"] > 50)
    >>> weights, grey = next(iter(torch.utils.data.DataLoader(fields, batch_size=2)))
    >>> weights["output.weight"].shape, grey.tolist()
    (torch.Size([2, 1, 256]), [100, 200])
    """

    def __init__(self, where: str | os.PathLike[str], *, target: str | None = None) -> None:
        self.place = Place(where)
        self.target = target
        self.failures: dict[str, str] = {}
        self.settings: Document = {}
        self._files: FieldFolder | None = None
        self._numbers: dict[str, int] | None = None
        path = self.place.path()
        if path is not None and not self.place.exists(SET):
            self._files = FieldFolder(path)
            self.entries = _entries_of_files(self._files)
        else:
            self.settings = read_settings(self.place)
            index = SetIndex(self.place)
            self.entries, self.failures = list(index.entries.values()), index.failures
        self._open: OrderedDict[str, Shard | _OneFile] = OrderedDict()
        self._check_target()

    def _check_target(self) -> None:
        lacking = [entry.name for entry in self.entries if self.target is not None and self.target not in entry.tags]
        if lacking:
            raise ValueError(f"target must be a tag of every field, got {self.target!r}, which {lacking[0]} lacks")

    def __getstate__(self) -> dict[str, Any]:
        # Each worker of a DataLoader maps the shards itself.
        return {**self.__dict__, "_open": OrderedDict()}

    def __repr__(self) -> str:
        return f"FieldSet({len(self)} fields of {self.place})"

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    def __getitem__(self, which: int | str) -> Any:
        return self.__getitems__([self._number(which)])[0]

    def weights(self, which: int | str) -> Weights:
        """The tensors of one field by name, whether or not there is a target."""
        entry = self.entries[self._number(which)]
        return {key: tensor[0] for key, tensor in self._shard(entry.shard).rows([entry.row]).items()}

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """Several items at once: each shard is read once."""
        by_shard: dict[str, list[int]] = {}
        for number in numbers:
            by_shard.setdefault(self.entries[number].shard, []).append(number)
        found: dict[int, Weights] = {}
        for name, group in by_shard.items():
            tensors = self._shard(name).rows([self.entries[number].row for number in group])
            for position, number in enumerate(group):
                found[number] = {key: tensor[position] for key, tensor in tensors.items()}
        if self.target is None:
            return [found[number] for number in numbers]
        return [(found[number], self.entries[number].tags[self.target]) for number in numbers]

    def where(self, condition: Callable[[Entry], bool]) -> FieldSet:
        """The fields whose entry fulfils a condition, such as `lambda entry: entry.metrics["psnr"] > 30`."""
        return self._with([entry for entry in self.entries if condition(entry)])

    def select(self, names: Iterable[str]) -> FieldSet:
        """The fields of these names, in this order."""
        by_name = {entry.name: entry for entry in self.entries}
        wanted = list(names)
        unknown = [name for name in wanted if name not in by_name]
        if unknown:
            listed = str(self.place) if self._files is None else f"{self.place}/{INDEX}"
            raise ValueError(f"names must be listed in {listed}, got {', '.join(map(repr, unknown))}")
        return self._with([by_name[name] for name in wanted])

    def stack(self) -> StackedFields:
        """The weights of all fields, stacked; they must have the same architecture."""
        if not self.entries:
            raise FileError(f"{self.place} lists no fitted fields")
        first, parts = self._header(0), []
        for start in range(0, len(self), 256):
            numbers = range(start, min(start + 256, len(self)))
            for number in numbers:
                self._check_alike(first, number)
            items = [item if self.target is None else item[0] for item in self.__getitems__(numbers)]
            parts.append({key: torch.stack([item[key] for item in items]) for key in items[0]})
        tensors = {key: torch.cat([part[key] for part in parts]) for key in parts[0]}
        architecture = first.metadata.get("architecture") or {}
        return StackedFields(self.names, architecture, tensors, [entry.metrics for entry in self.entries])

    def load(self, which: int | str) -> tuple[nn.Module, Document]:
        """One field and its metadata: `staf.FittedField(*fields.load(0))` renders it."""
        entry = self.entries[self._number(which)]
        shard = self._shard(entry.shard)
        module = build_empty(shard.single)
        module.load_state_dict(self.weights(which), assign=True)
        return module.eval(), shard.metadata(entry.row)

    def copy(self, where: str | os.PathLike[str], *, per_shard: int = 1000) -> FieldSet:
        """Write these fields, in this order, as a set with shards of equal size; returns the new set."""
        if per_shard < 1:
            raise ValueError(f"per_shard must be at least 1, got {per_shard}")
        folder = SetFolder.begin(where, self.settings)
        for start in range(0, len(self), per_shard):
            part = []
            for entry in self.entries[start : start + per_shard]:
                shard = self._shard(entry.shard)
                metadata = shard.metadata(entry.row)
                own = {key: value for key, value in metadata.items() if key not in ("name", "key", "kind", "fields")}
                part.append(Finished(entry.name, entry.key, self.weights(entry.name), {**own, "tags": entry.tags}))
            folder.commit(entries_of(folder.place, part), {})
        folder.index.merge()
        return FieldSet(where, target=self.target)

    def _with(self, entries: list[Entry]) -> FieldSet:
        chosen = FieldSet.__new__(FieldSet)
        chosen.__dict__.update(self.__getstate__(), entries=entries, _numbers=None)
        return chosen

    def _number(self, which: int | str) -> int:
        if not isinstance(which, str):
            return range(len(self))[operator.index(which)]
        if self._numbers is None:
            self._numbers = {entry.name: number for number, entry in enumerate(self.entries)}
        if which not in self._numbers:
            raise KeyError(f"{self.place} has no field {which!r}")
        return self._numbers[which]

    def _shard(self, name: str) -> Shard | _OneFile:
        if name not in self._open:
            self._open[name] = Shard(self.place, name) if self._files is None else _OneFile(self._files, name)
            if len(self._open) > OPEN_SHARDS:
                self._open.popitem(last=False)
        self._open.move_to_end(name)
        return self._open[name]

    def _header(self, number: int) -> Header:
        return self._shard(self.entries[number].shard).single

    def _check_alike(self, first: Header, number: int) -> None:
        header = self._header(number)
        if header is first:
            return
        architecture = header.metadata.get("architecture")
        if architecture is None or architecture != first.metadata.get("architecture"):
            raise FileError(
                f"{header.path} is another network than {self.names[0]}: stack fields of one architecture, by "
                "names=[...]"
            )


class _OneFile:
    """The file of one field, read as a shard of one."""

    def __init__(self, folder: FieldFolder, name: str) -> None:
        self.single = read_header(folder.file(name))
        FieldMetadata.of(self.single)
        compare_shapes(self.single, build_empty(self.single).state_dict())

    def rows(self, rows: Sequence[int]) -> Weights:
        tensors = read_tensors(self.single)
        return {key: torch.stack([tensor] * len(rows)) for key, tensor in tensors.items()}

    def metadata(self, row: int) -> Document:
        return self.single.metadata


def _entries_of_files(folder: FieldFolder) -> list[Entry]:
    """The fields of a folder with a file for each; the name of a file takes the place of its shard."""
    entries = []
    for name, path in folder.files().items():
        header = read_header(path)
        metadata = FieldMetadata.of(header)
        tags, key = header.metadata.get("tags"), header.metadata.get("fingerprint")
        own = tags if isinstance(tags, dict) else {}
        entries.append(
            Entry(name, key if isinstance(key, str) else "", name, 0, metadata.metrics, own, metadata.signal)
        )
    return entries


def load_many(where: str | os.PathLike[str], names: Sequence[str] | None = None) -> StackedFields:
    """The networks that `fit_many` wrote to a folder or URL, stacked; `names` selects some of them.

    All must have the same architecture. A folder of grey and colour images has two, so select one kind by name.

    >>> import numpy as np, staf, tempfile
    >>> from staf.storage.field_set import load_many
    >>> folder = tempfile.mkdtemp()
    >>> pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 200)]
    >>> _ = staf.fit_many(pictures, steps=2, out=folder, progress=False)
    >>> load_many(folder).matrix().shape
    torch.Size([2, 198975])
    """
    fields = FieldSet(where)
    return (fields if names is None else fields.select(names)).stack()
