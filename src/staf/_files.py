"""Writing files so that a full disk, a crash or Ctrl-C never leaves half a file in place of a good one."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


class WriteError(OSError):
    """A file could not be written; whatever stood at its path is untouched."""


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
    temporary = path.parent / f".staf-{secrets.token_hex(6)}{path.suffix}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
    """Write bytes or text (as UTF-8) whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full; free some space or choose another folder"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "no permission to write there; choose another folder"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "expected a folder, found a file"
    return error.strerror or str(error)
