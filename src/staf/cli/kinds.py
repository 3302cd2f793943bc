"""What kind of signal the arguments name, found before they are parsed, because options differ by kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


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
