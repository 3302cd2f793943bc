"""Audio: recordings of one or more channels."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_READER = "staf.kinds.audio.files:read_audio"

# A tag, or layer III of MPEG 1, 2 and 2.5, each without and with a checksum.
_MP3 = (b"ID3", b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2", b"\xff\xe3", b"\xff\xe2")

KIND = Kind(
    "audio",
    "staf.kinds.audio.signal:Audio",
    formats=(
        Format("WAV", "audio", ((0, b"RIFF"), (8, b"WAVE")), _READER),
        Format("FLAC", "audio", ((0, b"fLaC"),), _READER),
        Format("Ogg", "audio", ((0, b"OggS"),), _READER),
        *(Format("MP3", "audio", ((0, head),), _READER) for head in _MP3),
    ),
    options="staf.kinds.audio.options",
    suffixes=(".wav", ".flac", ".ogg", ".oga", ".mp3"),
    order=2,
)
