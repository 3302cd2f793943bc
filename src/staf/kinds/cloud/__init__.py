"""Point clouds: places on a surface, with the direction that looks out of it."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_READING = "staf.kinds.cloud.reading"

KIND = Kind(
    "cloud",
    "staf.kinds.cloud.signal:PointCloud",
    formats=(
        # Shapes take the PLY files that have faces.
        Format("PLY", "cloud", ((0, b"ply"),), f"{_READING}:read_ply"),
        Format("XYZ", "cloud", reader=f"{_READING}:read_xyz", suffixes=(".xyz",)),
    ),
    opens="staf.kinds.cloud.signal:cloud_from",
    layouts=("xyz",),
    options="staf.kinds.cloud.options",
    suffixes=(".xyz",),
    order=7,
)
