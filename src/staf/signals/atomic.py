"""Files of signals appear whole or not at all, and what stops them is a `SignalError`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from staf import _files
from staf.signals.errors import SignalError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which replaces it when the block ends without an error.

    When anything fails (a full disk, Ctrl-C, a bug in the writer) it is removed and an earlier file at `path` is left
    as it was. Folders are not made: a signal is saved where the user says.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [entry.name for entry in folder.iterdir()]
    ['a.txt']
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise SignalError(f"cannot write {str(path)!r}: it is a folder")
    if not target.parent.is_dir():
        raise SignalError(f"cannot write {str(path)!r}: the folder {str(target.parent)!r} does not exist")
    try:
        with _files.atomic_path(target) as temporary:
            yield temporary
    except _files.WriteError as error:
        reason = str(error.strerror).partition(": ")[2] or str(error)
        raise SignalError(f"cannot write {str(path)!r}: {reason}") from error
