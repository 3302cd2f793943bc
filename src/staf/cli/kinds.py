"""What kind of signal the arguments name, found before they are parsed, because options differ by kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def kind_of(words: Sequence[str], default: str = "image") -> str:
    """The kind (image, audio, shape, ...) of the first file among the arguments; `default` if there is none.

    >>> kind_of(["--help"])
    'image'
    """
    for word in words:
        if not word.startswith("-") and Path(word).is_file():
            from staf.signals.formats import HEAD_BYTES, recognise

            try:
                with open(word, "rb") as file:
                    format = recognise(file.read(HEAD_BYTES), Path(word).suffix)
            except OSError:
                return default
            return default if format is None else format.kind
    return default


def kind_of_field(words: Sequence[str], default: str = "image") -> str:
    """The kind of signal behind the first fitted field among the arguments; `default` if there is none.

    >>> kind_of_field(["--help"])
    'image'
    """
    for word in words:
        if not word.startswith("-") and Path(word).is_file():
            from staf.fitting import FileError, read_header

            try:
                signal: Any = read_header(word).metadata.get("signal")
            except (FileError, OSError):
                return default
            return str(signal.get("kind", default)) if isinstance(signal, dict) else default
    return default
