"""Grids: arrays of 1 to 4 dimensions with any number of channels."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_FILES = "staf.kinds.grid.files"

KIND = Kind(
    "grid",
    "staf.kinds.grid.signal:Grid",
    formats=(
        Format("NPY", "grid", ((0, b"\x93NUMPY"),), f"{_FILES}:read_npy"),
        Format("NPZ", "grid", ((0, b"PK\x03\x04"),), f"{_FILES}:read_npz", test=f"{_FILES}:announces_npz"),
    ),
    opens="staf.kinds.grid.conversion:grid_from",
    layouts=("channels-last", "channels-first", "no-channels"),
    options="staf.kinds.grid.options",
    suffixes=(".npy", ".npz"),
    order=4,
)
