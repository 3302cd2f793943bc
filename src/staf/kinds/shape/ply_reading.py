"""PLY: a header that names elements and their properties, and their values in text or binary."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from staf.kinds.shape.polygons import Parsed, polygons_of, positions_of, triangles, unreadable

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
CORNERS = ("vertex_indices", "vertex_index")
LONGEST_HEADER = 1 << 16
MOST_PROPERTIES = 1000


class Property(NamedTuple):
    """A value of an element, or a list of values if it has a type for their number."""

    name: str
    type: str
    count_type: str | None = None


@dataclass
class Element:
    """Rows of one kind: vertices, faces, or something else."""

    name: str
    count: int
    properties: list[Property] = field(default_factory=list)

    def scalar(self, names: tuple[str, ...]) -> list[int]:
        """The places of the named properties among the others, where all of them are single values."""
        places = {own.name: place for place, own in enumerate(self.properties) if own.count_type is None}
        return [places[name] for name in names if name in places]

    def corners(self) -> int | None:
        """The place of the list of corners: the one of its usual name, or else the first list."""
        lists = [place for place, own in enumerate(self.properties) if own.count_type is not None]
        named = [place for place in lists if self.properties[place].name in CORNERS]
        return next(iter(named or lists), None)


def parse_ply(data: bytes) -> Parsed:
    """The vertices and faces of a PLY file, as many as it announces; other elements and properties are left alone."""
    order, elements, start = parse_header(data)
    least = sum(element.count * _least(element, order) for element in elements)
    if start + least > len(data) + 1:
        counts = " and ".join(f"{element.count:,} of {element.name}" for element in elements)
        raise unreadable("PLY", f"it announces {counts} in {len(data):,} bytes")
    read = _text(data[start:], elements) if not order else _binary(memoryview(data)[start:], elements, order)
    vertices, faces = np.empty((0, 3)), np.empty((0, 3), np.int64)
    for element, values in read:
        if element.name == "vertex":
            vertices = values
        elif element.name == "face":
            faces = values
    return Parsed(vertices, faces)


def parse_header(data: bytes) -> tuple[str, list[Element], int]:
    """The byte order ("" for text), the elements, and where their values begin."""
    end = data.find(b"end_header", 0, LONGEST_HEADER)
    start = data.find(b"\n", end) + 1 if end > 0 else 0
    if not start:
        raise unreadable("PLY", "its header has no end")
    order: str | None = None
    elements: list[Element] = []
    for line in data[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(Element(words[1], int(words[2])))
            elif words[:2] == ["property", "list"]:
                elements[-1].properties.append(Property(words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1].properties.append(Property(words[2], TYPES[words[1]]))
        except (KeyError, IndexError, ValueError) as error:
            raise unreadable("PLY", f"its header has the line {line[:60]!r}") from error
    names = [element.name for element in elements]
    if order is None or len(names) != len(set(names)) or not elements:
        raise unreadable("PLY", "its header names no format, or no elements, or one twice")
    for element in elements:
        if element.count < 0 or not bool(element.count) <= len(element.properties) <= MOST_PROPERTIES:
            raise unreadable("PLY", f"it has {element.count} of {element.name} with {len(element.properties)} values")
    return order, elements, start


def _least(element: Element, order: str) -> int:
    """The bytes that a row takes at least: a digit and a space for every value in text."""
    if not order:
        return 2 * len(element.properties)
    return sum(np.dtype(own.count_type or own.type).itemsize for own in element.properties)


def _text(data: bytes, elements: list[Element]) -> Iterator[tuple[Element, np.ndarray]]:
    lines = (line for line in io.TextIOWrapper(io.BytesIO(data), encoding="latin-1") if not line.isspace())
    for element in elements:
        rows: Iterator[str] = itertools.islice(lines, element.count)
        if element.name == "vertex" and element.count:
            places = element.scalar(("x", "y", "z"))
            if len(places) < 3 or max(places) >= (element.corners() or len(element.properties)):
                raise unreadable("PLY", "its vertices have no x, y and z")
            if places != [0, 1, 2]:
                rows = _picked(rows, places)
            positions = positions_of(rows, "PLY")
            if len(positions) < element.count:
                raise unreadable("PLY", f"{len(positions):,} of {element.count:,} vertices are there")
            yield element, positions
        elif element.name == "face" and (place := element.corners()) is not None:
            if any(own.count_type is not None for own in element.properties[:place]):
                raise unreadable("PLY", "its faces have another list before their corners")
            yield element, polygons_of(lines, element.count, "PLY", place)
        elif sum(1 for _ in rows) < element.count:
            raise unreadable("PLY", f"{element.count:,} of {element.name} are announced, and some are not there")


def _picked(rows: Iterator[str], places: list[int]) -> Iterator[str]:
    for row in rows:
        words = row.split()
        if len(words) <= max(places):
            raise unreadable("PLY", f"a vertex has {len(words)} values: {row.strip()[:40]!r}")
        yield " ".join(words[place] for place in places)


def _binary(data: memoryview, elements: list[Element], order: str) -> Iterator[tuple[Element, np.ndarray]]:
    offset = 0
    for element in elements:
        place = element.corners()
        if place is None:
            rows = np.dtype([(f"{n}", order + own.type) for n, own in enumerate(element.properties)])
            if offset + element.count * rows.itemsize > len(data):
                there = (len(data) - offset) // rows.itemsize
                raise unreadable("PLY", f"{there:,} of {element.count:,} of {element.name} are there")
            values = np.frombuffer(data, rows, element.count, offset)
            offset += element.count * rows.itemsize
            places = element.scalar(("x", "y", "z"))
            if element.name == "vertex" and element.count:
                if len(places) < 3:
                    raise unreadable("PLY", "its vertices have no x, y and z")
                yield element, np.stack([values[f"{place}"] for place in places], 1).astype(np.float64)
            continue
        if element.name == "vertex":
            raise unreadable("PLY", "its vertices have lists, which are not read")
        corners, sizes, offset = _lists(data, element, place, order, offset)
        if element.name == "face":
            if corners.dtype.kind not in "iu":
                raise unreadable("PLY", "a face names a vertex by no whole number")
            yield element, triangles(corners, sizes)


def _lists(
    data: memoryview, element: Element, place: int, order: str, offset: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """The values of the list at `place` of all rows, how many each has, and the offset behind the rows.

    Rows are sorted by the length of that list.
    """
    alike = _alike(data, element, place, order, offset)
    if alike is not None:
        return alike
    letter = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}
    steps = []
    for position, own in enumerate(element.properties):
        width = np.dtype(own.type).itemsize
        count = None if own.count_type is None else struct.Struct(order + letter.get(own.count_type, "x"))
        steps.append((position == place, width, count))
    starts, sizes = np.empty(element.count, np.int64), np.empty(element.count, np.int64)
    row = 0
    try:
        for row in range(element.count):
            for wanted, width, count in steps:
                size = 1
                if count is not None:
                    (size,) = count.unpack_from(data, offset)
                    offset += count.size
                if size < 0:
                    raise ValueError
                if wanted:
                    starts[row], sizes[row] = offset, size
                offset += size * width
                if offset > len(data):
                    raise ValueError
    except (struct.error, ValueError) as error:
        raise unreadable("PLY", f"{row:,} of {element.count:,} of {element.name} are there") from error
    kind = np.dtype(order + element.properties[place].type)
    return _gathered(np.frombuffer(data, np.uint8), starts, sizes, kind), np.sort(sizes, kind="stable"), offset


def _gathered(data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, kind: np.dtype) -> np.ndarray:
    """The values of lists of different lengths, the shorter lists first."""
    order = np.argsort(sizes, kind="stable")
    parts = [np.empty(0, kind)]
    for alike in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        size = int(sizes[alike[0]]) if len(alike) else 0
        if size:
            places = starts[alike][:, None] + np.arange(size * kind.itemsize)
            parts.append(data[places].view(kind).ravel())
    return np.concatenate(parts)


def _alike(
    data: memoryview, element: Element, place: int, order: str, offset: int
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The same, at once, if every row has lists as long as those of the first one; None otherwise."""
    fields: list[tuple[str, str, int]] = []
    lengths: dict[int, int] = {}
    at = offset
    for position, own in enumerate(element.properties):
        size = 1
        if own.count_type is not None:
            kind = np.dtype(order + own.count_type)
            if at + kind.itemsize > len(data) or element.count == 0:
                return None
            size = int(np.frombuffer(data, kind, 1, at)[0])
            at += kind.itemsize
            fields.append((f"count{position}", order + own.count_type, 1))
            lengths[position] = size
        if not 0 <= size <= len(data):
            return None
        fields.append((f"{position}", order + own.type, size))
        at += size * np.dtype(own.type).itemsize
    rows = np.dtype([(name, kind, (size,)) for name, kind, size in fields])
    end = offset + element.count * rows.itemsize
    if end > len(data):
        return None
    values = np.frombuffer(data, rows, element.count, offset)
    if any((values[f"count{position}"] != size).any() for position, size in lengths.items()):
        return None
    return values[f"{place}"].ravel(), np.full(element.count, lengths[place]), end
