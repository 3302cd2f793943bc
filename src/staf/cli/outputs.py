"""Where results go: checked before the work, so that nothing is computed only to be lost."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from staf._files import WriteError, check_writable
from staf.cli.errors import UserError

MEBIBYTE = 2**20
FIGURES = (".png", ".pdf", ".svg", ".jpg", ".webp")

# The folders that this command has made, the innermost first.
_made: list[Path] = []


def default_folder(name: str, ending: str) -> Path:
    """Where a run goes that is not told: runs/NAME-ENDING, the name cut where a file system would refuse it.

    >>> str(default_folder("photo", "staf"))
    'runs/photo-staf'
    >>> len(default_folder("a" * 300, "staf").name)
    205
    """
    return Path("runs") / f"{os.fsdecode(os.fsencode(name)[:200])}-{ending}"


def prepare_folder(folder: Path, needed: int) -> None:
    """Make the folder, if `needed` bytes can be written into it."""
    _probe(folder, folder)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has room for {free / MEBIBYTE:.1f} MiB and about {needed / MEBIBYTE:.0f} MiB are needed: "
            "free some space or choose another folder with --out"
        )


def prepare_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that exists unless it may be replaced; make its folder."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file in it with --out")
    refuse_existing(path, overwrite=overwrite)
    _probe(path.parent, path)


def prepare_figure(path: Path, *, overwrite: bool) -> None:
    """`prepare_file` for a drawing, whose suffix says how it is written."""
    if path.suffix.lower() not in FIGURES and not path.is_dir():
        raise UserError(f"--out must end in {', '.join(FIGURES)}, got {path}")
    prepare_file(path, overwrite=overwrite)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """The one rule of every verb: what exists is replaced only when that was asked for."""
    if path.exists() and not overwrite:
        raise UserError(f"{path} exists: name another place with --out, or replace it with --overwrite")


def remove_empty_folders() -> None:
    """Remove the folders that this command has made and left empty: it was refused, or failed before it wrote."""
    for folder in _made:
        with contextlib.suppress(OSError):
            folder.rmdir()
    _made.clear()


def _probe(folder: Path, wanted: Path) -> None:
    """Make the folder and write into it; a failure names what the user asked for."""
    _made.extend(each for each in (folder, *folder.parents) if not os.path.lexists(each))
    try:
        check_writable(folder)
    except WriteError as error:
        raise UserError(f"cannot write {wanted}: {str(error.strerror).rpartition(': ')[2]}") from error
