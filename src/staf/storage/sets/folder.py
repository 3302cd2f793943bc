"""The one owner of a set of fields: `set.json`, the index and the shards."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from staf import __version__
from staf._documents import Document, parse_json
from staf._jsonable import jsonable
from staf.storage.folder import INDEX as INDEX_OF_FILES
from staf.storage.header import FileError
from staf.storage.sets.index import Entry, SetIndex
from staf.storage.sets.place import Place
from staf.storage.sets.shard import SHARDS, Finished, Shard, write_shards

SET = "set.json"
FORMAT_VERSION = 1


class SetFolder:
    """A set that is being written.

    A field counts as finished when its shard is whole; the index lists it a moment later. After a crash, the
    next process that opens the set adopts the shards that are not listed.

    >>> import tempfile
    >>> from staf.nn import siren
    >>> folder = SetFolder.begin(tempfile.mkdtemp(), {"seed": 0})
    >>> field = Finished.of("a", "key", siren(2, 3, width=8, depth=2), {"metrics": {"psnr": 30.0}})
    >>> folder.commit(entries_of(folder.place, [field]), {})
    >>> list(folder.index.entries)
    ['a']
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.index = SetIndex(place)

    @classmethod
    def begin(
        cls,
        where: str | os.PathLike[str],
        settings: Document,
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> SetFolder:
        """The set of a run; refused if it holds an earlier run that is neither resumed nor overwritten."""
        place = Place(where)
        if place.exists(INDEX_OF_FILES):
            raise FileExistsError(f"{place} holds fits in files of their own: name another place for the shards")
        begun = place.exists(SET)
        if begun and not (resume or overwrite):
            raise FileExistsError(
                f"{place} already holds fits: give resume=True to continue, or overwrite=True to redo them"
            )
        wanted = json.loads(json.dumps(jsonable(settings)))
        if begun and resume:
            earlier = read_settings(place)
            for name, value in wanted.items():
                if name in earlier and earlier[name] != value:
                    raise FileError(
                        f"{place} was begun with {name}={earlier[name]}, got {name}={value}: resume with the same "
                        "settings, or overwrite the set"
                    )
        folder = cls(place)
        if overwrite:
            folder.index.clear()
            for name in place.names(SHARDS):
                place.delete(f"{SHARDS}/{name}")
        if not begun or overwrite:
            document = {"format": FORMAT_VERSION, "staf": __version__, "settings": wanted}
            place.write(SET, json.dumps(document, indent=1).encode())
        folder.adopt()
        return folder

    def commit(self, entries: Sequence[Entry], failures: dict[str, str]) -> None:
        """List fields that are written, and inputs that failed."""
        self.index.commit(entries, failures)

    def adopt(self) -> int:
        """List the fields of whole shards that no index names, which a killed run has left; returns how many."""
        listed = {entry.shard for entry in self.index.entries.values()}
        found: dict[str, Entry] = {}
        for name in self.place.names(SHARDS):
            if name not in listed:
                try:
                    shard = Shard(self.place, name)
                except FileError:
                    continue
                for row, own in enumerate(shard.fields):
                    found[own["name"]] = entry_of(name, row, own)
        new = [entry for name, entry in found.items() if name not in self.index.entries]
        self.commit(new, {})
        return len(new)


def read_settings(place: Place) -> Document:
    """What a set was begun with."""
    try:
        document = parse_json(place.read(SET))
        settings, version = document["settings"], document["format"]
    except FileNotFoundError:
        raise FileError(f"{place} has no {SET}: it is not a set of fields") from None
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise FileError(f"{place}/{SET} does not describe a set of fields: {error}") from None
    if not isinstance(settings, dict) or not isinstance(version, int):
        raise FileError(f"{place}/{SET} does not describe a set of fields")
    if version > FORMAT_VERSION:
        raise FileError(f"{place} has format {version}, and this staf reads up to {FORMAT_VERSION}: upgrade staf")
    return settings


def entries_of(place: Place, fields: Sequence[Finished]) -> list[Entry]:
    """Write fields into shards; their entries for the index."""
    return [
        entry_of(shard, row, field.own())
        for shard, group in write_shards(place, fields)
        for row, field in enumerate(group)
    ]


def entry_of(shard: str, row: int, own: Document) -> Entry:
    """The entry of a field, from what the header of its shard says of it."""
    tags, signal = own.get("tags") or {}, own.get("signal")
    return Entry(own["name"], own["key"], shard, row, own.get("metrics") or {}, tags, signal)
