"""The index of a set: which field is in which shard. It is a list of small files, each written whole and never changed.

An object store cannot append to a file, so every commit is a new segment, `index/FIRST-LAST-RANDOM.jsonl`, with a line
for each field and a last line with their number and hash. A segment that is not whole is ignored. Later segments win.
`merge` writes one segment for the numbers FIRST to LAST and then removes those it replaces; a reader that sees both
takes the wider one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from staf._documents import Document, Record, parse_json
from staf.storage.folder import is_file_name
from staf.storage.sets.place import Place

INDEX = "index"
NAME = re.compile(r"(\d{10})-(\d{10})-[0-9a-f]{12}\.jsonl", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """Where a field is, and what is known of it without opening its shard.

    `key` is a hash of the data that was fitted, the recipe, the network with its start, and the seed.
    """

    name: str
    key: str
    shard: str
    row: int
    metrics: dict[str, float] = field(default_factory=dict)
    tags: Document = field(default_factory=dict)
    signal: Document | None = None

    def line(self) -> str:
        """The entry as JSON."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def of(cls, document: Any) -> Entry:
        """The entry that a line holds; a ValueError if it is not one."""
        record = Record(document)
        shard = record.text("shard")
        if not is_file_name(shard):
            raise ValueError(f"shard must be a file name, got {shard[:80]!r}")
        metrics, tags, signal = (record.get(name) for name in ("metrics", "tags", "signal"))
        if not isinstance(metrics, dict) or not all(isinstance(value, (int, float)) for value in metrics.values()):
            raise ValueError("metrics must be numbers by name")
        if not isinstance(tags, dict) or not (signal is None or isinstance(signal, dict)):
            raise ValueError("tags and signal must be data by name")
        return cls(record.text("name"), record.text("key"), shard, record.whole("row"), metrics, tags, signal)


class SetIndex:
    """The fields of a set by name, and why others are missing.

    >>> import tempfile
    >>> index = SetIndex(Place(tempfile.mkdtemp()))
    >>> index.commit([Entry("a", "key", "s.safetensors", 0)], {"b": "b.png is empty"})
    >>> again = SetIndex(index.place)
    >>> list(again.entries), again.failures
    (['a'], {'b': 'b.png is empty'})
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.entries: dict[str, Entry] = {}
        self.failures: dict[str, str] = {}
        self._next = 0
        # Only segments that were read or written here may be replaced by a merged one.
        self._seen: set[str] = set()
        for _, last, name in segments(place.names(INDEX)):
            entries, failures = read_segment(place.read(f"{INDEX}/{name}"))
            self._apply(entries, failures)
            self._seen.add(f"{INDEX}/{name}")
            self._next = max(self._next, last + 1)

    def _apply(self, entries: Sequence[Entry], failures: dict[str, str]) -> None:
        for entry in entries:
            self.entries[entry.name] = entry
            self.failures.pop(entry.name, None)
        for name, reason in failures.items():
            self.failures[name] = reason

    def commit(self, entries: Sequence[Entry], failures: dict[str, str]) -> None:
        """Add fields and failures; when this returns they are kept, whatever happens to this process."""
        if not entries and not failures:
            return
        name = _name(self._next, self._next)
        self.place.write(name, segment_bytes(entries, failures))
        self._seen.add(name)
        self._next += 1
        self._apply(entries, failures)

    def merge(self) -> None:
        """Make one segment of all."""
        if len(self._seen) < 2:
            return
        whole = _name(0, self._next - 1)
        self.place.write(whole, segment_bytes(list(self.entries.values()), self.failures))
        for name in self._seen:
            self.place.delete(name)
        self._seen = {whole}

    def clear(self) -> None:
        """Forget everything."""
        for name in self.place.names(INDEX):
            self.place.delete(f"{INDEX}/{name}")
        self.entries, self.failures, self._next, self._seen = {}, {}, 0, set()


def _name(first: int, last: int) -> str:
    return f"{INDEX}/{first:010d}-{last:010d}-{secrets.token_hex(6)}.jsonl"


def segments(names: Sequence[str]) -> list[tuple[int, int, str]]:
    """The segments to read, oldest first, without those that a wider one replaces.

    >>> [name[:21] for _, _, name in segments([f"000000000{a}-000000000{b}-{'0' * 12}.jsonl" for a, b in ("00", "01")])]
    ['0000000000-0000000001']
    """
    found = [(int(match[1]), int(match[2]), match[0]) for match in map(NAME.fullmatch, names) if match]
    found.sort(key=lambda segment: (segment[0], -segment[1], segment[2]))
    kept: list[tuple[int, int, str]] = []
    for first, last, name in found:
        covered = kept and kept[-1][0] <= first and last <= kept[-1][1] and kept[-1][:2] != (first, last)
        if not covered:
            kept.append((first, last, name))
    return kept


def segment_bytes(entries: Sequence[Entry], failures: dict[str, str]) -> bytes:
    """A segment with its last line, by which a reader knows that it is whole."""
    # Line by line, here and in reading: an index of a million fields has hundreds of megabytes.
    body = bytearray()
    for entry in entries:
        body += f"{entry.line()}\n".encode()
    for name, reason in failures.items():
        body += json.dumps({"name": name, "failure": reason}, ensure_ascii=False).encode() + b"\n"
    end = {"end": len(entries) + len(failures), "sha256": hashlib.sha256(body).hexdigest()}
    body += json.dumps(end).encode() + b"\n"
    return bytes(body)


def read_segment(data: bytes) -> tuple[list[Entry], dict[str, str]]:
    """The entries of a segment; none if it is incomplete, because then its shards are found without it."""
    body, _, end = data.removesuffix(b"\n").rpartition(b"\n")
    body += b"\n" if body else b""
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        if parse_json(end).get("sha256") == hashlib.sha256(body).hexdigest():
            entries: list[Entry] = []
            failures: dict[str, str] = {}
            for line in io.BytesIO(body):
                document = parse_json(line)
                if "failure" in document:
                    failures[str(document["name"])] = str(document["failure"])
                else:
                    entries.append(Entry.of(document))
            return entries, failures
    return [], {}
