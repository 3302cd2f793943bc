"""What kind of signal the arguments name, found before they are parsed, because options differ by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# For files that are not there: their options are parsed, and the message is about the file.
SUFFIXES = {
    **dict.fromkeys((".wav", ".flac", ".ogg", ".oga", ".mp3"), "audio"),
    **dict.fromkeys((".ply", ".obj", ".stl", ".glb", ".off"), "shape"),
}


def kind_of(words: Sequence[str], default: str = "image") -> str:
    """The kind (image, audio, shape, ...) of the first signal among the arguments; `default` if there is none.

    >>> kind_of(["--help"]), kind_of(["--steps", "3", "missing.ply"])
    ('image', 'shape')
    """
    for path in _files(words):
        from staf.kinds.formats import HEAD_BYTES, recognise

        try:
            with open(path, "rb") as file:
                format = recognise(file.read(HEAD_BYTES), path.suffix)
        except OSError:
            continue
        if format is not None:
            return format.kind
    found = (SUFFIXES.get(Path(word).suffix.lower()) for word in words if not word.startswith("-"))
    return next((kind for kind in found if kind is not None), default)


def kind_of_field(words: Sequence[str], default: str = "image") -> str:
    """The kind of signal behind the first fitted field, or folder of fields, among the arguments; or `default`.

    >>> kind_of_field(["--help"])
    'image'
    """
    for word in words:
        if word.startswith("-"):
            continue
        if (Path(word) / "windows.json").is_file():
            return "audio"
        for path in _files([word, *_fields_in(Path(word))]):
            from staf.storage import FileError, read_header

            try:
                signal: Any = read_header(path).metadata.get("signal")
            except (FileError, OSError):
                continue
            if isinstance(signal, dict):
                return str(signal.get("kind", default))
    missing = [word for word in words if word.endswith(".safetensors") and not Path(word).exists()]
    if missing and not {"-h", "--help"} & set(words):
        from staf.storage import read_header

        # Options depend on what the field is, so that this comes before any complaint about them.
        read_header(missing[0])
    return default


def _files(words: Sequence[str]) -> Iterator[Path]:
    return (Path(word) for word in words if not word.startswith("-") and Path(word).is_file())


def _fields_in(folder: Path) -> list[str]:
    """The field of a run's folder, or the first one of a folder of many."""
    if (folder / "model.safetensors").is_file():
        return [str(folder / "model.safetensors")]
    return [str(path) for path in sorted(folder.glob("fields/*.safetensors"))[:1]]
