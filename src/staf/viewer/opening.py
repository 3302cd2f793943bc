"""`view`: a file or folder of fields in the browser."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from pathlib import Path

from staf.export.meaning import Exportable
from staf.storage import FileError
from staf.storage.folder import FieldFolder
from staf.viewer.server import ViewServer
from staf.viewer.shown import FileShown

MODEL = "model.safetensors"


def fields_of(path: Path) -> dict[str, Path]:
    """The fields of a file, of the folder of a run, or of a folder of many fields, by name."""
    if not path.is_dir():
        return {path.stem: path}
    if (path / MODEL).is_file():
        return {path.resolve().name: path / MODEL}
    return FieldFolder(path).files()


def serve(path: str | os.PathLike[str], load: Callable[[Path], Exportable], *, browse: bool = True) -> ViewServer:
    """Show the field or fields at `path` in the browser; they are read again when their files change.

    The server runs until it is closed: `serve(path, staf.load).wait()`.
    """
    files = fields_of(Path(path))
    if not files:
        raise FileError(f"{path} holds no fields")
    server = ViewServer([FileShown(file, load, name) for name, file in files.items()])
    if browse:
        webbrowser.open(server.address)
    return server
