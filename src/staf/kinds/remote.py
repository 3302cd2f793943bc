"""A signal behind a URL: its file is fetched with fsspec, and removed when the signal is no longer used."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from staf._scratch import scratch_name, sweep_once
from staf.signals.base import Signal
from staf.signals.errors import SignalError
from staf.storage.folder import is_file_name
from staf.storage.sets.place import Place


class _Fetched:
    """Keeps a fetched file for readers that look into it later."""

    def __init__(self, folder: Path) -> None:
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def open_url(url: str, read: Callable[[Path], Signal]) -> Signal:
    """The signal that `read` makes of the file behind a URL.

    >>> import tempfile
    >>> import numpy as np
    >>> from staf.kinds import open
    >>> folder = tempfile.mkdtemp()
    >>> np.save(f"{folder}/grey.npy", np.zeros((2, 3), np.uint8))
    >>> open(f"file://{folder}/grey.npy")
    Image('grey', 3x2 grey, uint8)
    """
    parent, _, name = url.rpartition("/")
    if not is_file_name(name) or parent.endswith(":/"):
        raise SignalError(f"cannot open {url!r}: it names no file")
    place = Place(parent)
    here = place.path(name)
    if here is not None:
        return read(here)
    above = Path(tempfile.gettempdir())
    sweep_once(above)
    folder = above / scratch_name()
    folder.mkdir(mode=0o700)
    kept = _Fetched(folder)
    try:
        place.fetch(name, folder / name)
    except FileNotFoundError:
        raise SignalError(f"cannot open {url!r}: there is no such file") from None
    except OSError as error:
        raise SignalError(f"cannot open {url!r}: {error.strerror or error}") from error
    try:
        signal = read(folder / name)
    except SignalError as error:
        raise SignalError(str(error).replace(str(folder / name), url)) from error
    signal.source = url
    # Copies of the signal hold it as well.
    vars(signal)["_fetched"] = kept
    return signal
