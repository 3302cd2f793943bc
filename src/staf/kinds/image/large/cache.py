"""Decoded images in the user's cache folder, under a hash of their files, so that each is decoded once."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from staf import _cache
from staf._scratch import scratch_name, sweep
from staf.kinds.image.large.strips import Banded, jpeg_bands, png_bands, tiff_bands
from staf.signals.errors import SignalError

# Part of every key: a change in how files are decoded must not meet old arrays.
METHOD = "bands-1"
# What the folder may hold besides the current image; the files unused for longest are deleted first.
MOST_BYTES = 2**35
READERS: dict[str, Callable[[Path, int], Banded | None]] = {"TIFF": tiff_bands, "PNG": png_bands, "JPEG": jpeg_bands}


class Mapped(NamedTuple):
    """Pixels (h, w, c) in a memory map, and what belongs to them."""

    pixels: np.ndarray
    profile: bytes | None
    notes: list[str]


def cache_folder() -> Path:
    """Where decoded images are kept: `images` in staf's cache folder, which XDG_CACHE_HOME moves."""
    return _cache.cache_folder() / "images"


def mapped_image(path: Path, format: str, max_pixels: int) -> Mapped | None:
    """The pixels of a file as a memory map, decoded in bands if the cache does not hold them yet.

    None for what is not decoded in bands: other formats, and pictures that need a conversion. The memory needed is that
    of a few bands, and of a JPEG four bytes a pixel while it is decoded.
    """
    if format not in READERS:
        return None
    banded = READERS[format](path, max_pixels)
    if banded is None:
        return None
    folder = cache_folder()
    kept = folder / key_of(path)
    found = _load(kept, banded)
    if found is None:
        _decode(banded, kept)
        found = _load(kept, banded)
    if found is None:
        raise SignalError(f"the cache folder {folder} does not keep what is written into it; set XDG_CACHE_HOME")
    with contextlib.suppress(OSError):
        os.utime(kept)
    return found


def key_of(path: Path) -> str:
    """A hash of a file's content and of the way it is decoded."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(METHOD.encode())
    return digest.hexdigest()[:40]


def _decode(banded: Banded, kept: Path) -> None:
    """Write the bands beside their final place and move them there whole."""
    folder = kept.parent
    try:
        _cache.private_folder(folder)
    except OSError as error:
        raise SignalError(f"cannot keep the decoded image in {folder}: {error.strerror or error}") from error
    sweep(folder)
    _make_room(folder, banded.nbytes)
    scratch = folder / scratch_name()
    try:
        scratch.mkdir(mode=0o700)
        with (scratch / "pixels.npy").open("xb") as file:
            header = {
                "descr": np.lib.format.dtype_to_descr(banded.dtype),
                "fortran_order": False,
                "shape": banded.shape,
            }
            np.lib.format.write_array_header_2_0(file, header)
            rows = 0
            for band in banded.bands():
                file.write(np.ascontiguousarray(band).data)
                rows += len(band)
            file.flush()
            os.fsync(file.fileno())
        if rows != banded.shape[0]:
            raise SignalError(f"it is damaged or cut short: {rows} of {banded.shape[0]} rows are whole")
        profile = None if banded.profile is None else base64.b64encode(banded.profile).decode("ascii")
        (scratch / "image.json").write_text(json.dumps({"profile": profile, "notes": list(banded.notes)}))
        shutil.rmtree(kept, ignore_errors=True)
        # Another process may have finished the same image in the meantime: its copy is as good.
        with contextlib.suppress(FileExistsError):
            scratch.rename(kept)
    except OSError as error:
        raise SignalError(
            f"cannot keep the decoded image in {folder}: {error.strerror or error}; set XDG_CACHE_HOME to another disk"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _load(kept: Path, banded: Banded) -> Mapped | None:
    """What the cache holds, if it is whole."""
    try:
        pixels = np.load(kept / "pixels.npy", mmap_mode="r", allow_pickle=False)
        told = json.loads((kept / "image.json").read_text())
        profile = None if told["profile"] is None else base64.b64decode(told["profile"], validate=True)
        notes = [str(note) for note in told["notes"]]
    except (OSError, ValueError, KeyError, TypeError, EOFError, binascii.Error):
        return None
    if pixels.shape != banded.shape or pixels.dtype != banded.dtype:
        return None
    return Mapped(pixels, profile, notes)


def _make_room(folder: Path, needed: int) -> None:
    """Remove the longest unused images until the folder keeps to its size, and refuse what the disk cannot hold."""
    # Folders that begin with a dot are being written, by this process or another.
    whole = [entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    entries = sorted(whole, key=lambda entry: entry.stat().st_mtime)
    sizes = [sum(part.stat().st_size for part in entry.iterdir()) for entry in entries]
    for number, entry in enumerate(entries):
        if sum(sizes[number:]) <= MOST_BYTES and shutil.disk_usage(folder).free > needed:
            break
        shutil.rmtree(entry, ignore_errors=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SignalError(
            f"the decoded image needs {needed / 1e9:.1f} GB in {folder}, which has {free / 1e9:.1f} GB left; "
            "free some space, or set XDG_CACHE_HOME to another disk"
        )
