"""Files of packed arrays (`.npz`), refused in a sentence where they hold something else."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence

import numpy as np


def packed_arrays_of(path: str, needed: Sequence[str], writer: str) -> dict[str, np.ndarray]:
    """The arrays of a file that `writer` has written, which has those in `needed`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise ValueError(f"cannot open {path!r}: there is no such file") from None
    # A single array, which numpy opens too, is no context.
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile):
        found = {}
    if not set(needed) <= set(found):
        raise ValueError(f"cannot open {path!r}: it is not a file that {writer} has written")
    return found
