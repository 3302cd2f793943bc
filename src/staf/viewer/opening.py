"""`view`: a file or folder of fields in the browser."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path

from torch import nn

from staf._documents import Document
from staf.export.meaning import Exportable
from staf.storage import FileError
from staf.storage.field_set import FieldSet
from staf.storage.folder import FieldFolder
from staf.storage.sets.folder import SET
from staf.viewer.server import ViewServer
from staf.viewer.shown import FileShown, SetShown, Shown

MODEL = "model.safetensors"


def fields_of(path: Path) -> dict[str, Path]:
    """The fields of a file, of the folder of a run, or of a folder of many fields, by name."""
    if not path.is_dir():
        return {path.stem: path}
    if (path / MODEL).is_file():
        return {path.resolve().name: path / MODEL}
    return FieldFolder(path).files()


def serve(
    path: str | os.PathLike[str],
    load: Callable[[Path], Exportable],
    *,
    build: Callable[[nn.Module, Document], Exportable] | None = None,
    browse: bool = True,
) -> ViewServer:
    """Show the field or fields at `path` in the browser; they are read again when their files change.

    `path` may be the URL of a set. `build` makes a field of a network and its metadata, and is needed for sets alone.
    The server runs until it is closed: `serve(path, staf.load, build=staf.FittedField).wait()`.
    """
    shown: list[Shown]
    if "://" in os.fspath(path) or (Path(path) / SET).is_file():
        shown = [*_fields_of_set(path, build)]
    else:
        shown = [FileShown(file, load, name) for name, file in fields_of(Path(path)).items()]
    if not shown:
        raise FileError(f"{path} holds no fields")
    server = ViewServer(shown)
    if browse:
        webbrowser.open(server.address)
    return server


def _fields_of_set(
    path: str | os.PathLike[str], build: Callable[[nn.Module, Document], Exportable] | None
) -> list[SetShown]:
    if build is None:
        raise FileError(f"{path} holds a set of fields: give build=staf.FittedField to show it")
    fields, make = FieldSet(path), build

    def load(name: str) -> Exportable:
        return make(*fields.load(name))

    return [SetShown(name, partial(load, name)) for name in fields.names]
