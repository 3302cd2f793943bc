"""The header of a safetensors file of ours: checked in full (sizes, offsets, shapes) before anything is allocated."""

from __future__ import annotations

import difflib
import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from staf._documents import Document, parse_json
from staf._messages import one_line

FORMAT_VERSION = 1
METADATA_KEY = "staf"
MAX_HEADER_BYTES = 32 * 2**20
# Parsed JSON takes up to 30 times its text, by the number of its entries; a header of ours has some ten a tensor.
MAX_ENTRIES = 2**18
MAX_AXES = 16
FLOATS = ("F64", "F32", "F16", "BF16")
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


class FileError(ValueError):
    """A file cannot be opened as a fitted field or checkpoint; the message says why, in one line."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


@dataclass(frozen=True)
class Header:
    """The header of a file: metadata, and the shape and type of each tensor."""

    path: Path
    metadata: Document
    shapes: dict[str, tuple[int, ...]]
    types: dict[str, str]

    def part(self, prefix: str) -> Header:
        """The header of the tensors whose names begin with a prefix, without it."""
        names = {name: name.removeprefix(prefix) for name in self.shapes if name.startswith(prefix)}
        pairs = [names[name] for name in self.metadata.get("complex", []) if name in names]
        return Header(
            self.path,
            {**self.metadata, "complex": pairs},
            {short: self.shapes[name] for name, short in names.items()},
            {short: self.types[name] for name, short in names.items()},
        )


def read_header(path: str | os.PathLike[str]) -> Header:
    """Parse and check a header; nothing of a declared size is allocated."""
    path = Path(path)
    if not path.exists():
        raise FileError(f"{path} does not exist{_nearby(path)}")
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the .safetensors file in it")
    if not path.is_file():
        raise FileError(f"{path} is not a regular file")
    try:
        raw, size = _header_bytes(path)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    return parse_header(path, raw, size)


def parse_header(path: Path, raw: bytes, size: int) -> Header:
    """Check the header `raw` of a file of `size` bytes, which errors call `path`."""
    try:
        entries = parse_json(raw, MAX_ENTRIES)
        document = parse_json(entries["__metadata__"][METADATA_KEY], MAX_ENTRIES)
    except (KeyError, TypeError, AttributeError):
        raise FileError(f"{path} is a safetensors file, but not one that staf wrote") from None
    except ValueError:
        raise FileError(f"{path} has a broken header") from None
    if not isinstance(document, dict):
        raise FileError(f"{path} has a broken header")
    version = document.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileError(f"{path} names no format version")
    if version > FORMAT_VERSION:
        raise FileError(
            f"{path} has format {version}, and this staf reads up to {FORMAT_VERSION}: upgrade staf to open it"
        )
    del entries["__metadata__"]
    pairs = document.get("complex", [])
    if not isinstance(pairs, list) or not all(isinstance(name, str) for name in pairs):
        raise FileError(f"{path} has a broken header")
    shapes = _check_tensors(path, entries, size - 8 - len(raw))
    for name in pairs:
        if name not in shapes or shapes[name][-1:] != (2,) or entries[name]["dtype"] not in FLOATS[:3]:
            raise FileError(f"{path} has a broken header: {name!r} is no complex tensor")
    return Header(path, document, shapes, {name: entries[name]["dtype"] for name in shapes})


def _header_bytes(path: Path) -> tuple[bytes, int]:
    """The header of a file, and the size of the whole file."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise FileError(f"{path} is {'empty' if size == 0 else 'too short'} ({size} bytes): not a fitted field")
        (length,) = struct.unpack("<Q", start)
        if length > MAX_HEADER_BYTES or file.read(1) != b"{":
            raise FileError(f"{path} is not a safetensors file; a fitted field is the model.safetensors of `staf fit`")
        if length > size - 8:
            raise FileError(f"{path} is truncated: its header says {length} bytes, the file has {size - 8}")
        file.seek(8)
        return file.read(length), size


def _check_tensors(path: Path, entries: Document, available: int) -> dict[str, tuple[int, ...]]:
    shapes = {}
    end_of_last = 0
    try:
        ordered = sorted(entries.items(), key=lambda item: item[1]["data_offsets"])
        for name, entry in ordered:
            shape = tuple(entry["shape"])
            begin, end = entry["data_offsets"]
            # Bounded before they are multiplied: the product of a header's worth of digits takes hours.
            whole = len(shape) <= MAX_AXES and all(type(n) is int and 0 <= n < 2**63 for n in (*shape, begin, end))
            if not whole or begin != end_of_last or end - begin != math.prod(shape) * _BYTES[entry["dtype"]]:
                raise ValueError
            shapes[name] = shape
            end_of_last = end
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{path} has a broken header: its tensors' shapes and sizes disagree") from None
    if end_of_last != available:
        raise FileError(f"{path} is truncated or padded: {end_of_last} bytes of tensors declared, {available} present")
    return shapes


def _nearby(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    names = [p.name for p in path.parent.iterdir() if p.suffix == ".safetensors"]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close else ""
