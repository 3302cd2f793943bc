"""A shard: many fields of one architecture in one safetensors file, each tensor with a leading axis of fields."""

from __future__ import annotations

import hashlib
import math
import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._jsonable import digest, jsonable
from staf.storage import file
from staf.storage.header import MAX_HEADER_BYTES, FileError, Header, parse_header
from staf.storage.sets.place import Place

SHARDS = "shards"
# What differs between the fields of a shard; the rest of their metadata is written once.
OWN = ("metrics", "signal", "tags", "steps", "stopped", "fingerprint")
# Time differs from run to run; the files of a set must not.
LEFT_OUT = ("seconds",)
_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip


@dataclass(frozen=True)
class Finished:
    """A fitted field on its way into a shard: its name, its key, its tensors and its metadata."""

    name: str
    key: str
    state: dict[str, Tensor]
    metadata: Document

    @classmethod
    def of(cls, name: str, key: str, module: nn.Module, metadata: Document) -> Finished:
        """The field as it is saved: in its baked form, if it has one."""
        saved, document = file.saved_form(module, metadata)
        state = {name: tensor.detach().cpu() for name, tensor in saved.state_dict().items()}
        return cls(name, key, state, document)

    @property
    def bytes(self) -> int:
        """What its tensors take."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.state.values())

    def shared(self) -> Document:
        """The part of the metadata that all fields of a shard have in common."""
        return {name: value for name, value in self.metadata.items() if name not in (*OWN, *LEFT_OUT)}

    def own(self) -> Document:
        """The part of the metadata that belongs to this field."""
        kept = {name: self.metadata[name] for name in OWN if name in self.metadata}
        return {"name": self.name, "key": self.key, **kept}


def write_shards(place: Place, fields: Sequence[Finished]) -> Iterator[tuple[str, list[Finished]]]:
    """Write fields in as few shards as their architectures allow; yields each shard's name and its fields, in order.

    The name of a shard follows from its fields' names and keys, so that writing it again replaces it by the same.
    """
    groups: dict[str, list[Finished]] = {}
    for field in fields:
        shapes = [[name, list(tensor.shape), str(tensor.dtype)] for name, tensor in field.state.items()]
        groups.setdefault(digest([jsonable(field.shared()), shapes]), []).append(field)
    for group in groups.values():
        state = {name: torch.stack([field.state[name] for field in group]) for name in group[0].state}
        metadata = {**group[0].shared(), "kind": "shard", "fields": [field.own() for field in group]}
        content = "\n".join(f"{field.name} {field.key}" for field in group)
        name = f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.safetensors"
        place.write(f"{SHARDS}/{name}", file.encode(state, metadata))
        yield name, group


class Shard:
    """A shard that is open: its header is checked in full, and its tensors are read row by row.

    On this machine the file is mapped into memory; behind a URL the bytes of a row are fetched.
    """

    def __init__(self, place: Place, name: str) -> None:
        self.label = f"{place}/{SHARDS}/{name}"
        self._place, self._file = place, f"{SHARDS}/{name}"
        try:
            raw, size = self._header_bytes()
        except OSError as error:
            raise FileError(f"{self.label} cannot be read: {error.strerror or error}") from None
        self._start = 8 + len(raw)
        self.header = parse_header(Path(self.label), raw, size)
        metadata = self.header.metadata
        if metadata.get("kind") != "shard":
            raise FileError(f"{self.label} is not a shard of a set of fields")
        fields = metadata.get("fields")
        if not isinstance(fields, list) or not all(_is_entry(entry) for entry in fields):
            raise FileError(f"{self.label} has a broken header: its list of fields is none")
        self.fields: list[Document] = fields
        for tensor, shape in self.header.shapes.items():
            if shape[:1] != (len(fields),):
                raise FileError(f"{self.label}: tensor {tensor} has shape {shape}, and there are {len(fields)} fields")
        self.single = Header(
            self.header.path,
            {name: value for name, value in metadata.items() if name != "fields"} | {"kind": "field"},
            {name: shape[1:] for name, shape in self.header.shapes.items()},
            self.header.types,
        )
        if self.single.metadata.get("architecture") is not None:
            file.compare_shapes(self.single, file.build_empty(self.single).state_dict())
        self._part = self._mapped()

    def _header_bytes(self) -> tuple[bytes, int]:
        size = self._place.size(self._file)
        start = self._place.read(self._file, 0, 8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise FileError(f"{self.label} is not a whole safetensors file")
        return self._place.read(self._file, 8, 8 + length), size

    def _mapped(self) -> Callable[[int, int], bytearray]:
        """What gives the bytes of the tensors' part of the file, from and up to."""
        path, start = self._place.path(self._file), self._start
        if path is None:
            return lambda begin, end: bytearray(self._place.read(self._file, start + begin, start + end))
        with open(path, "rb") as opened:
            view = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        return lambda begin, end: bytearray(view[start + begin : start + end])

    def __len__(self) -> int:
        return len(self.fields)

    def rows(self, rows: Sequence[int]) -> dict[str, Tensor]:
        """The tensors of some fields, (rows, ...), in the order asked for."""
        if rows and not 0 <= min(rows) <= max(rows) < len(self):
            raise FileError(f"{self.label} has {len(self)} fields, and the index names row {max(rows)}")
        pairs = set(self.header.metadata.get("complex", []))
        out, offset = {}, 0
        for name, shape in self.single.shapes.items():
            kind = _TYPES[self.header.types[name]]
            step = math.prod(shape) * kind.itemsize
            parts = [self._part(offset + row * step, offset + (row + 1) * step) for row in rows]
            data = parts[0] if len(parts) == 1 else bytearray().join(parts)
            tensor = (torch.frombuffer(data, dtype=kind) if data else torch.empty(0, dtype=kind)).view(
                len(rows), *shape
            )
            # Bytes may begin anywhere; complex numbers need them at multiples of their size.
            out[name] = torch.view_as_complex(tensor.clone()) if name in pairs else tensor
            offset += step * len(self.fields)
        return out

    def metadata(self, row: int) -> Document:
        """All that is known of one field."""
        metadata = {**self.single.metadata, **self.fields[row]}
        file.FieldMetadata.of(Header(self.header.path, metadata, self.single.shapes, self.single.types))
        return metadata


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("name", "key")):
        return False
    return all(isinstance(entry.get(name), dict | None) for name in ("metrics", "tags", "signal"))
