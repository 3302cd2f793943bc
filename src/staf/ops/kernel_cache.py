"""Built libraries kept in a folder, under names that say what they were built from and what is in them.

`kernels-KEY-CONTENT.so`: KEY hashes what the library is built from, CONTENT its bytes. A file that is cut short or
changed does not match its name, and is never loaded: the system would kill the process for using it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from staf._cache import check_private
from staf._scratch import scratch_name, sweep

DIGITS = 32


def whole_files(folder: Path, key: str) -> list[Path]:
    """The libraries of `key` that are this user's own and hold what their name says; the others are removed."""
    found = []
    for path in sorted(folder.glob(f"kernels-{key}-*.so")):
        try:
            check_private(path)
            intact = path.name == _name(key, path.read_bytes())
        except OSError:
            intact = False
        if intact:
            found.append(path)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return found


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder in `folder` for building, removed afterwards, as are those of builds that were killed."""
    sweep(folder)
    scratch = folder / scratch_name()
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def keep(built: Path, folder: Path, key: str) -> Path:
    """Moves a library that was built into `folder`, once all of it is on the disk, and returns its new path."""
    os.chmod(built, 0o600)
    with open(built, "rb+") as file:
        os.fsync(file.fileno())
        target = folder / _name(key, file.read())
    os.replace(built, target)
    return target


def _name(key: str, content: bytes) -> str:
    return f"kernels-{key}-{hashlib.sha256(content).hexdigest()[:DIGITS]}.so"
