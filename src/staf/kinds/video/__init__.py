"""Videos: frames of one size at a constant rate, fitted as a field of (t, y, x)."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_READING = "staf.kinds.video.reading"

KIND = Kind(
    "video",
    "staf.kinds.video.signal:Video",
    formats=(
        Format("GIF", "video", ((0, b"GIF8"),), f"{_READING}:read_gif"),
        Format("MP4", "video", ((4, b"ftyp"),), f"{_READING}:read_mp4"),
        Format("Matroska", "video", ((0, b"\x1aE\xdf\xa3"),), f"{_READING}:read_matroska"),
        Format("AVI", "video", ((0, b"RIFF"), (8, b"AVI ")), f"{_READING}:read_avi"),
    ),
    opens="staf.kinds.video.signal:video_from",
    layouts=("thwc",),
    options="staf.kinds.video.options",
    suffixes=(".mp4", ".gif", ".mov", ".webm", ".mkv", ".avi"),
    order=6,
)
