"""Finished fields are written in shards by another thread, while the next ones train."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from staf._files import WriteError
from staf.storage.sets import Entry, Finished, Place
from staf.storage.sets.folder import entries_of
from staf.training.worker import Worker

# Finished fields are written when they take so many bytes, or so many seconds after the last ones: what a killed
# process can lose.
SHARD_BYTES, SHARD_SECONDS = 2**27, 30.0
# Shards that wait to be written before training waits for them.
MOST_WAITING = 2

Commit = Callable[[Sequence[Entry], dict[str, str]], None]


class ShardWriter:
    """Takes finished fields and writes them many at a time; `commit` gets the entries of what is written.

    Another thread writes, and the caller's own thread commits: the index has one owner. A `WriteError` is raised by the
    next call, or at the end of the block. After another error the block writes what is finished before it ends.

    >>> import tempfile
    >>> from staf.nn import siren
    >>> field = Finished.of("a", "key", siren(2, 3, width=8, depth=2), {"metrics": {"psnr": 30.0}})
    >>> with ShardWriter(Place(tempfile.mkdtemp()), lambda entries, failures: print(len(entries), failures)) as writer:
    ...     writer.add(field)
    1 {}
    """

    def __init__(self, place: Place, commit: Commit) -> None:
        self.place, self.commit = place, commit
        self._fields: list[Finished] = []
        self._failures: dict[str, str] = {}
        self._bytes, self._since = 0, time.monotonic()
        self._thread = Worker("staf-shards")
        self._writing: deque[tuple[Future[list[Entry]], dict[str, str]]] = deque()

    def add(self, finished: Finished, failure: str | None = None) -> None:
        """A fitted field, and why it is to be listed as a failure too, if it is."""
        self._fields.append(finished)
        self._bytes += finished.bytes
        if failure is not None:
            self._failures[finished.name] = failure
        if self._bytes >= SHARD_BYTES or time.monotonic() - self._since >= SHARD_SECONDS:
            self.write()
        else:
            self._settle(MOST_WAITING)

    def write(self) -> None:
        """Start writing the fields that are finished."""
        if self._fields:
            self._writing.append((self._thread.submit(entries_of, self.place, self._fields), self._failures))
        self._fields, self._failures, self._bytes, self._since = [], {}, 0, time.monotonic()
        self._settle(MOST_WAITING)

    def fail(self, failures: Mapping[str, str]) -> None:
        """Inputs that could not be read."""
        self.commit([], dict(failures))

    def _settle(self, left: int) -> None:
        """Commit what is written, and wait until no more than `left` shards are being written."""
        while self._writing and (len(self._writing) > left or self._writing[0][0].done()):
            written, failed = self._writing.popleft()
            self.commit(written.result(), failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.write()
                self._settle(0)
            elif not isinstance(error, WriteError):
                # Ctrl-C, or a bug in one group: what is finished is kept.
                with contextlib.suppress(WriteError):
                    self.write()
                    self._settle(0)
        finally:
            self._thread.shutdown()
