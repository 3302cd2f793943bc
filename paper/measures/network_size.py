"""How many real parameters a network has, and the width at which it has at most a given number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What the targets allow: STAF has 198,975, SIREN 198,915.
LIMIT = 199_100
WIDEST = 1024


def scalars(architecture: Mapping[str, Any]) -> int:
    """Real numbers in a network as it is saved: a complex weight is two, INCODE's reader of the target is not kept.

    >>> scalars({"name": "wire", "arguments": {"in_features": 2, "out_features": 3}})
    199287
    """
    from staf.nn import networks

    arguments = dict(architecture["arguments"])
    if architecture["name"] == "incode":
        # Four numbers stand for the reader.
        arguments |= {"harmoniser": None, "sample_rate": None}
    field = networks.build({"name": architecture["name"], "arguments": arguments}, device="meta")
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in field.parameters())


def matched_width(architecture: Mapping[str, Any], limit: int = LIMIT) -> int:
    """The largest width at which the network has at most `limit` real numbers.

    >>> matched_width({"name": "ffn", "arguments": {"in_features": 2, "out_features": 3}})
    185
    """

    def size(width: int) -> int:
        return scalars({"name": architecture["name"], "arguments": {**architecture["arguments"], "width": width}})

    if size(1) > limit:
        raise ValueError(f"limit must let {architecture['name']} have a width of 1, {size(1):,} numbers, got {limit:,}")
    low, high = 1, WIDEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= limit else (low, middle)
    return low
