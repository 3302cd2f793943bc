"""What a file is, told from its first bytes: the registry that `open` reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD_BYTES = 64


@dataclass(frozen=True)
class Format:
    """One kind of file: its name, the kind of signal, the bytes it must have, and who reads it.

    `magic` lists (offset, bytes) pairs that must all be there. A format without any (OBJ is plain text) is told by
    its `suffixes`. `reader` is "module:function", imported when first used, called as function(path, limit) with the
    most grid points to accept, and returns a signal; None means that the file is recognised and not read.

    >>> Format("PNG", "image", ((0, b"PNG!"),)).matches(b"PNG!data", ".jpg")
    True
    """

    name: str
    kind: str
    magic: tuple[tuple[int, bytes], ...] = ()
    reader: str | None = None
    suffixes: tuple[str, ...] = ()

    def matches(self, head: bytes, suffix: str) -> bool:
        if self.magic:
            return all(head[offset : offset + len(part)] == part for offset, part in self.magic)
        return suffix in self.suffixes

    def load_reader(self) -> Callable[[Path, int], Any]:
        assert self.reader is not None
        module, function = self.reader.split(":")
        return getattr(importlib.import_module(module), function)


_IMAGES = "staf.kinds.image.reading"
_AUDIO = "staf.kinds.audio.files:read_audio"
_MESHES = "staf.kinds.shape.mesh_reading"
_TIFF = "staf.kinds.image.tiff_reading:read_tiff"

FORMATS: list[Format] = [
    Format("PNG", "image", ((0, b"\x89PNG\r\n\x1a\n"),), f"{_IMAGES}:read_png"),
    Format("JPEG", "image", ((0, b"\xff\xd8\xff"),), f"{_IMAGES}:read_jpeg"),
    Format("TIFF", "image", ((0, b"II*\0"),), _TIFF),
    Format("TIFF", "image", ((0, b"MM\0*"),), _TIFF),
    Format("TIFF", "image", ((0, b"II+\0"),), _TIFF),
    Format("TIFF", "image", ((0, b"MM\0+"),), _TIFF),
    Format("WebP", "image", ((0, b"RIFF"), (8, b"WEBP")), f"{_IMAGES}:read_webp"),
    Format("NPY", "image", ((0, b"\x93NUMPY"),), f"{_IMAGES}:read_npy"),
    Format("GIF", "image", ((0, b"GIF8"),)),
    Format("BMP", "image", ((0, b"BM"),)),
    Format("HEIC", "image", ((4, b"ftyphei"),)),
    Format("AVIF", "image", ((4, b"ftypavif"),)),
    Format("JPEG 2000", "image", ((4, b"jP  \r\n\x87\n"),)),
    Format("JPEG XL", "image", ((0, b"\xff\x0a"),)),
    Format("OpenEXR", "image", ((0, b"v/1\x01"),)),
    Format("PDF", "document", ((0, b"%PDF"),)),
    Format("WAV", "audio", ((0, b"RIFF"), (8, b"WAVE")), _AUDIO),
    Format("FLAC", "audio", ((0, b"fLaC"),), _AUDIO),
    Format("Ogg", "audio", ((0, b"OggS"),), _AUDIO),
    # Layer III of MPEG 1, 2 and 2.5, each with and without a checksum.
    *(
        Format("MP3", "audio", ((0, head),), _AUDIO)
        for head in (b"ID3", *(bytes((0xFF, second)) for second in (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2)))
    ),
    Format("MP4", "video", ((4, b"ftyp"),)),
    Format("PLY", "shape", ((0, b"ply"),), f"{_MESHES}:read_ply"),
    Format("GLB", "shape", ((0, b"glTF"),), f"{_MESHES}:read_glb"),
    Format("OFF", "shape", ((0, b"OFF"),), f"{_MESHES}:read_off"),
    Format("OFF", "shape", ((0, b"COFF"),), f"{_MESHES}:read_off"),
    Format("OBJ", "shape", reader=f"{_MESHES}:read_obj", suffixes=(".obj",)),
    Format("STL", "shape", reader=f"{_MESHES}:read_stl", suffixes=(".stl",)),
    Format("ZIP", "archive", ((0, b"PK\x03\x04"),)),
]


def recognise(head: bytes, suffix: str) -> Format | None:
    """The first format that the head of a file matches.

    >>> recognise(b"\\xff\\xd8\\xff\\xe0", ".png").name
    'JPEG'
    """
    return next((format for format in FORMATS if format.matches(head, suffix.lower())), None)


def readable() -> str:
    """The names of the formats that are read, for messages."""
    return ", ".join(dict.fromkeys(format.name for format in FORMATS if format.reader is not None))
