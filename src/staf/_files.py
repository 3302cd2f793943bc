"""Writing files so that a full disk, a crash or Ctrl-C never leaves half a file instead of a good one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from staf._scratch import scratch_name, sweep_once


class WriteError(OSError):
    """A file could not be written; whatever stood at its path is untouched."""

    def __str__(self) -> str:
        # Without the system's error number, which an OSError puts first.
        return str(self.strerror)


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it replaces `path`, on failure it is removed.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(pathlib.Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (pathlib.Path(folder) / "note.txt").read_text()
    'whole'
    """
    # A link keeps pointing at its file, which is what is replaced.
    path = Path(os.path.realpath(path))
    # The suffix stays last because many writers choose the format by it.
    temporary = path.parent / scratch_name(path.suffix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_once(path.parent)
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(error.errno, f"cannot write {path}: {_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def atomic_write(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write bytes or text (as UTF-8) whole or not at all; bytes of a file name that are no UTF-8 become escapes."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode(errors="backslashreplace") if isinstance(data, str) else data)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Make `folder` and write an empty file into it, under a name of its own, which is removed again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_writable(folder)
    ...     os.listdir(folder)
    []
    """
    probe = Path(folder) / scratch_name()
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        sweep_once(probe.parent)
        # O_EXCL makes a new file and follows no link, whatever lies at the name.
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except OSError as error:
        raise WriteError(error.errno, f"cannot write {probe.parent}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full; free some space or choose another folder"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "no permission to write there; choose another folder"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "expected a folder, found a file"
    return error.strerror or str(error)
