"""A kind of signal in one folder: a list of numbers, one a line, under the heading "TOY"."""

from __future__ import annotations

from staf.kinds import Format, Kind

KIND = Kind(
    "toy",
    "tests.kinds.toy.signal:Toy",
    formats=(Format("TOY", "toy", ((0, b"TOY\n"),), "tests.kinds.toy.signal:read_toy"),),
    suffixes=(".toy",),
)
