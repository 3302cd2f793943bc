"""Damage to what a file says of itself: an entry of its JSON becomes an absurd one, or is missing."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

LONG = 2**20
ABSURD: tuple[Any, ...] = (
    None, True, 0, 1, -1, 0.5, 10**9, 10**12, 10**30, 2**53, 2**63, 1e300, 1e308, 1e-320, float("inf"), float("-inf"),
    float("nan"), "", "x", "nan", "../../etc", "a\nb\x1b", "\ud800", [], [1], [[]], [0, 0], [-1, -1], [0.5, 0.5],
    [10**9, 10**9], [10**9] * 3, [1e308, 1e308], [float("inf")] * 2, [None, None], ["a"] * 3, [1] * 20_000, {},
    {"a": 1},
)  # fmt: skip
DEEP = ("[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "[" * 9000 + "]" * 9000)
MARK = "@@here@@"

Change = Callable[[random.Random, bytes], bytes]


def entries(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every entry, the whole first; of long lists the first four.

    >>> list(entries({"a": [1, 2]}))
    [(), ('a',), ('a', 0), ('a', 1)]
    """
    yield at
    if isinstance(document, dict):
        for key in document:
            yield from entries(document[key], (*at, key))
    elif isinstance(document, list):
        for number in range(min(4, len(document))):
            yield from entries(document[number], (*at, number))


def changed(chance: random.Random, document: Any) -> str:
    """The document as JSON with one entry replaced, or without it.

    >>> changed(random.Random(1), {"a": 1}) != changed(random.Random(2), {"a": 1})
    True
    """
    at = chance.choice(list(entries(document)))
    how = chance.randrange(20)
    if how == 0 and at:
        return json.dumps(_replaced(document, at, None, remove=True))
    if how == 1:
        return json.dumps(_replaced(document, at, MARK)).replace(json.dumps(MARK), chance.choice(DEEP))
    if how == 2:
        return json.dumps(_replaced(document, at, "x" * LONG))
    return json.dumps(_replaced(document, at, chance.choice(ABSURD)))


def in_json(chance: random.Random, data: bytes) -> bytes:
    """A JSON file with a changed entry."""
    return changed(chance, json.loads(data)).encode()


def in_first_line(chance: random.Random, data: bytes) -> bytes:
    """A file with a JSON document in each line, the first one changed."""
    first, _, rest = data.partition(b"\n")
    return in_json(chance, first) + b"\n" + rest


def in_safetensors(chance: random.Random, data: bytes) -> bytes:
    """A safetensors file with a changed entry: of our metadata, or of what it says of its tensors."""
    (length,) = struct.unpack("<Q", data[:8])
    header, tensors = json.loads(data[8 : 8 + length]), data[8 + length :]
    if chance.random() < 0.7:
        header["__metadata__"]["staf"] = changed(chance, json.loads(header["__metadata__"]["staf"]))
        text = json.dumps(header)
    else:
        metadata = header.pop("__metadata__")
        text = changed(chance, header)
        if text.startswith("{") and len(text) > 2:
            text = f'{{"__metadata__": {json.dumps(metadata)}, {text[1:]}'
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded + tensors


def _replaced(document: Any, at: tuple[Any, ...], value: Any, *, remove: bool = False) -> Any:
    if not at:
        return value
    document = copy.deepcopy(document)
    holder = document
    for key in at[:-1]:
        holder = holder[key]
    if remove:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return document
