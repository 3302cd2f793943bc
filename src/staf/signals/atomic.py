"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from staf.signals.errors import SignalError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which replaces it when the block ends without an error.

    The temporary file lives in the same folder, so that the last step is one rename. When anything fails (a full
    disk, Ctrl-C, a bug in the writer) it is removed and an earlier file at `path` is left as it was. Errors of the
    operating system become a `SignalError` that names `path`.

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
    temporary = target.parent / f".staf-{secrets.token_hex(6)}{target.suffix}"
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise SignalError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
