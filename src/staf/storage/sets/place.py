"""Where a set of fields is: a folder of this machine, or a URL that fsspec opens (s3://, gs://, memory://)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from staf._extras import need
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
            self._remote, self._root = need("cluster", "fsspec.core").url_to_fs(self.url)
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
            return self._remote.cat_file(self._full(name), start=start, end=stop)
        with open(self._full(name), "rb") as file:
            file.seek(start)
            return file.read() if stop is None else file.read(stop - start)

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        return int(self._remote.size(self._full(name)) if self._remote else os.path.getsize(self._full(name)))

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole; a `WriteError` says why that was not possible, and leaves what was there."""
        if self._remote is None:
            atomic_write(self._full(name), data)
            return
        try:
            self._remote.makedirs(self._full(name).rpartition("/")[0], exist_ok=True)
            self._remote.pipe_file(self._full(name), data)
        except OSError as error:
            raise WriteError(error.errno, f"cannot write {self.url}/{name}: {error}") from error

    def names(self, folder: str) -> list[str]:
        """The files in a folder of this place, sorted; none where there is no such folder."""
        try:
            if self._remote is None:
                found = [entry.name for entry in os.scandir(self._full(folder)) if entry.is_file()]
            else:
                listed = self._remote.ls(self._full(folder), detail=True, refresh=True)
                found = [str(entry["name"]).rpartition("/")[2] for entry in listed if entry["type"] == "file"]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not name.startswith("."))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return bool(self._remote.exists(self._full(name))) if self._remote else os.path.exists(self._full(name))

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        try:
            if self._remote is None:
                os.unlink(self._full(name))
            else:
                self._remote.rm_file(self._full(name))
        except FileNotFoundError:
            pass

    def _full(self, name: str) -> str:
        return f"{self._root}/{name}"
