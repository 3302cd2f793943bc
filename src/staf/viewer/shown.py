"""What a server shows: fields of files, which are read again when they change, and fields that are being trained."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from staf._documents import Document
from staf.export.describe import describe
from staf.export.meaning import Exportable, meaning
from staf.viewer.page import page
from staf.viewer.payload import payload

WAIT_SECONDS = 15.0


class Shown(Protocol):
    """A field that a server shows; `version` grows with every change."""

    @property
    def name(self) -> str: ...

    def page(self) -> str:
        """The page, without the network."""
        ...

    def field(self) -> bytes:
        """The network as it is now."""
        ...

    def original(self) -> bytes | None:
        """What was fitted, if it is available: see `live.original_of`."""
        ...

    def wait(self, version: int) -> tuple[int, Document]:
        """Wait until the version is another, or for a while; the version, and the news for the page."""
        ...

    def stop(self) -> bool:
        """End the training, if there is any."""
        ...


class Announcement:
    """A version that others wait for."""

    def __init__(self) -> None:
        self.version = 0
        self.condition = threading.Condition()

    def announce(self) -> None:
        with self.condition:
            self.version += 1
            self.condition.notify_all()

    def wait(self, version: int, seconds: float = WAIT_SECONDS) -> int:
        """Wait until the version is another than the one given, or until the time is over; the version."""
        with self.condition:
            self.condition.wait_for(lambda: self.version != version, seconds)
            return self.version


class FieldShown(ABC):
    """A field that exists, and is not being trained."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._announcement = Announcement()

    @abstractmethod
    def current(self) -> Exportable:
        """The field as it is now."""

    def page(self) -> str:
        return page(self.current(), served=True)

    def field(self) -> bytes:
        return field_bytes(self.current())

    def original(self) -> bytes | None:
        return None

    def wait(self, version: int) -> tuple[int, Document]:
        return self._announcement.wait(version), {}

    def stop(self) -> bool:
        return False


class FileShown(FieldShown):
    """The field of a file, read again when the file has changed.

    Args:
        load: opens the file, such as `staf.load`.
    """

    def __init__(self, path: Path, load: Callable[[Path], Exportable], name: str | None = None) -> None:
        super().__init__(name or path.stem)
        self.path, self.load = path, load
        self._seen = self._mark()
        self._field = load(path)

    def current(self) -> Exportable:
        return self._field

    def _mark(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def look(self) -> None:
        """Read the file again if it has changed; one that is gone or half-written leaves what is shown."""
        mark = self._mark()
        if mark is None or mark == self._seen:
            return
        try:
            field = self.load(self.path)
        except (ValueError, OSError):
            return
        self._field, self._seen = field, mark
        self._announcement.announce()


class SetShown(FieldShown):
    """A field of a set, which never changes; it is read when its page is asked for."""

    def __init__(self, name: str, load: Callable[[], Exportable]) -> None:
        super().__init__(name)
        self._load = load
        self._field: Exportable | None = None

    def current(self) -> Exportable:
        if self._field is None:
            self._field = self._load()
        return self._field


def field_bytes(field: Exportable) -> bytes:
    """A field as the page reads it."""
    return payload(describe(field.module), meaning(field)).to_bytes()
