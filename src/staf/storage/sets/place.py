"""Where a set of fields is: a folder of this machine, or a URL that fsspec opens (s3://, gs://, memory://)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from staf._extras import MissingExtra, need
from staf._files import WriteError, atomic_write


class Place:
    """A folder whose files are written whole or not at all, and never changed in part.

    Folders of this machine need no library. On an object store an object appears when all of it has arrived.

    >>> import tempfile
    >>> place = Place(tempfile.mkdtemp())
    >>> place.write("index/a.txt", b"whole")
    >>> place.names("index"), place.read("index/a.txt", 1, 3), place.size("index/a.txt"), place.exists("b")
    (['a.txt'], b'ho', 5, False)
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        text = os.fspath(where)
        scheme, mark, rest = text.partition("://")
        self.url = text.rstrip("/") or text
        self._remote: Any = None
        self._root = ""
        if mark and scheme != "file":
            self._remote, self._root = _opened(self.url, scheme)
        else:
            self._root = os.path.abspath(rest if mark else text)

    def __str__(self) -> str:
        return self.url

    def path(self, name: str = "") -> Path | None:
        """The path of a file on this machine; None behind a URL."""
        return None if self._remote is not None else Path(self._root) / name

    def absolute(self) -> str:
        """The place as another process finds it."""
        return self.url if self._remote is not None else self._root

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes of a file, or those from `start` up to `stop`."""
        if self._remote is not None:
            with self._answering():
                return self._remote.cat_file(self._full(name), start=start, end=stop)
        with open(self._full(name), "rb") as file:
            file.seek(start)
            return file.read() if stop is None else file.read(stop - start)

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        if self._remote is None:
            return os.path.getsize(self._full(name))
        with self._answering():
            return int(self._remote.size(self._full(name)))

    def fetch(self, name: str, path: Path) -> None:
        """Copy a file to a path of this machine."""
        with self._answering():
            self._remote.get_file(self._full(name), str(path))

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole; a `WriteError` says why that was not possible, and leaves what was there."""
        if self._remote is None:
            atomic_write(self._full(name), data)
            return
        try:
            with self._answering():
                self._remote.makedirs(self._full(name).rpartition("/")[0], exist_ok=True)
                self._remote.pipe_file(self._full(name), data)
        except OSError as error:
            raise WriteError(error.errno, f"cannot write {self.url}/{name}: {error.strerror or error}") from error

    def names(self, folder: str) -> list[str]:
        """The files in a folder of this place, sorted; an empty list without such a folder."""
        try:
            if self._remote is None:
                found = [entry.name for entry in os.scandir(self._full(folder)) if entry.is_file()]
            else:
                with self._answering():
                    listed = self._remote.ls(self._full(folder), detail=True, refresh=True)
                found = [str(entry["name"]).rpartition("/")[2] for entry in listed if entry["type"] == "file"]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not name.startswith("."))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        if self._remote is None:
            return os.path.exists(self._full(name))
        with self._answering():
            return bool(self._remote.exists(self._full(name)))

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        try:
            if self._remote is None:
                os.unlink(self._full(name))
            else:
                with self._answering():
                    self._remote.rm_file(self._full(name))
        except FileNotFoundError:
            pass

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Around calls of a store, whose library has errors of its own: no credentials, no such bucket, no network."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise OSError(errno.EIO, f"{self.url} does not answer: {type(error).__name__}: {error}") from error

    def _full(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root


def _opened(url: str, scheme: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    core = need("cluster", "fsspec.core")
    try:
        return core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtra(f"{url} needs a library that is not installed: {error}", name=error.name) from error
    except ValueError as error:
        known = "file, memory, s3, gs, abfs, hf or another that fsspec knows"
        raise OSError(errno.EPROTONOSUPPORT, f"{url}: {scheme}:// must be {known} ({error})") from None
