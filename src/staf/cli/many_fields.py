"""The fields of a folder or URL that fit-many wrote, with a file for each or as a set of shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from staf._documents import Entries
from staf.api import FittedField, load
from staf.cli.kinds import is_url
from staf.storage import FieldFolder, FileError, read_header
from staf.storage.field_set import FieldSet
from staf.storage.folder import is_file_name
from staf.storage.sets.folder import SET


@dataclass(frozen=True)
class OneOfMany:
    """A field that is read when it is asked for, and what was fitted."""

    load: Callable[[], FittedField]
    signal: Callable[[], Entries]


def fields_in(folder: str) -> dict[str, OneOfMany]:
    """The fields of a folder or URL by name; names are those of files."""
    if not is_url(folder) and not (Path(folder) / SET).is_file():
        return {
            name: OneOfMany(partial(load, path), partial(_signal_of_file, path))
            for name, path in FieldFolder(Path(folder)).files().items()
        }
    fields = FieldSet(folder)
    for name in fields.names:
        if not is_file_name(name):
            raise FileError(f"{folder} lists {name[:80]!r}, which is not a file name")
    return {
        entry.name: OneOfMany(partial(_loaded, fields, entry.name), partial(_signal, entry.signal))
        for entry in fields.entries
    }


def _signal_of_file(path: Path) -> Entries:
    return read_header(path).metadata.get("signal", {})


def _loaded(fields: FieldSet, name: str) -> FittedField:
    return FittedField(*fields.load(name))


def _signal(signal: Entries | None) -> Entries:
    return signal or {}
