"""What a file is, told by its bytes: the formats of all kinds, and some that are recognised but not read."""

from __future__ import annotations

from typing import BinaryIO

from staf.kinds.registry import Format, kinds

# The header of a PLY file, which tells meshes from point clouds, is longer than those of others.
HEAD_BYTES = 4096

# Files of no kind, named so that a message can say what they are. They come last: ZIP has relatives above.
OTHERS = (
    Format("PDF", "document", ((0, b"%PDF"),)),
    Format("ZIP", "archive", ((0, b"PK\x03\x04"),)),
    *(Format("Netpbm", "image", ((0, magic),)) for magic in (b"P5\n", b"P6\n")),
    Format("CSV", "grid", suffixes=(".csv", ".tsv")),
)


def formats() -> list[Format]:
    """The formats of every kind, and the others."""
    return [*(format for kind in kinds().values() for format in kind.formats), *OTHERS]


def recognise(file: BinaryIO, suffix: str, kind: str | None = None) -> Format | None:
    """The first format, of one `kind` or of all, that an open file matches.

    Where the user names the kind, the magic bytes are enough.

    >>> import io
    >>> recognise(io.BytesIO(b"\\xff\\xd8\\xff\\xe0"), ".png").name
    'JPEG'
    """
    file.seek(0)
    head = file.read(HEAD_BYTES)
    known = (format for format in formats() if kind in (None, format.kind) and format.matches(head, suffix.lower()))
    return next((format for format in known if kind is not None or format.passes(file)), None)


def readable(kind: str | None = None) -> str:
    """The names of the formats that are read, of one `kind` or of all, for messages.

    >>> readable("image")
    'PNG, JPEG, TIFF, WebP, GIF, NPY'
    """
    known = (format for format in formats() if kind in (None, format.kind))
    return ", ".join(dict.fromkeys(format.name for format in known if format.reader is not None))
