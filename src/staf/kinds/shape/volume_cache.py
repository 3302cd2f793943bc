"""Volumes that were computed before, kept in the user's cache folder under a hash of what made them."""

from __future__ import annotations

import contextlib
import hashlib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from staf import _cache
from staf.kinds.shape.mesh import Mesh, Rule
from staf.kinds.shape.voxels import PackedVolume
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

# Part of every key: a change in how volumes are computed must not meet old files.
METHOD = "signed-scanline-1"
Sampled = tuple[PackedVolume, tuple[int, int, int]]


def cache_folder() -> Path:
    """Where volumes are kept: `volumes` in staf's cache folder."""
    return _cache.cache_folder() / "volumes"


def key_of(mesh: Mesh, resolution: int, rule: Rule) -> str:
    """A hash of the mesh's content, the resolution and the way of telling inside from outside."""
    return hashlib.sha256(f"{METHOD} {mesh.digest()} {resolution} {rule}".encode()).hexdigest()[:40]


def cached(key: str, compute: Callable[[], Sampled]) -> Sampled:
    """The volume and offset kept under `key`, or those of `compute()`, which are then kept.

    A damaged file is computed again and replaced. A folder that cannot be written only costs the time.
    """
    try:
        path = cache_folder() / f"{key}.npz"
        found = _load(path)
    except (OSError, RuntimeError):
        return compute()
    if found is not None:
        return found
    volume, offset = compute()
    with contextlib.suppress(OSError, SignalError):
        _cache.private_folder(path.parent)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, bits=volume.bits, shape=volume.shape, offset=offset)
    return volume, offset


def _load(path: Path) -> Sampled | None:
    if not path.is_file():
        return None
    try:
        _cache.check_private(path.parent)
        with np.load(path, allow_pickle=False) as data:
            a, b, c = (int(size) for size in data["shape"])
            i, j, k = (int(first) for first in data["offset"])
            return PackedVolume((a, b, c), data["bits"]), (i, j, k)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, SignalError):
        return None
