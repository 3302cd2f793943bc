"""Damaged arrays and volumes, and damaged poses of scenes."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds import Grid
from tests.fuzz.target import Target
from tests.kinds.grid.test_medical import write_slice
from tests.kinds.scene.procedural import write_blender

VOLUME = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def _arrays(folder: Path) -> Target:
    seeds = []
    for array in (VOLUME, VOLUME.astype(np.int16), np.asfortranarray(VOLUME.astype(">f8")), VOLUME > 9, np.arange(20)):
        np.save(folder / "a.npy", array)
        seeds.append((folder / "a.npy").read_bytes())
    return Target("grid", "a.npy", seeds, lambda path: staf.open(path, kind="grid"), magic=b"\x93NUMPY")


def _archives(folder: Path) -> Target:
    seeds = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, a=VOLUME)
        seeds.append(buffer.getvalue())
    return Target("npz", "a.npz", seeds, staf.open, magic=b"PK\x03\x04")


def _niftis(folder: Path) -> Target:
    seeds = []
    for array in (VOLUME, VOLUME.astype(np.int16)):
        path = Grid(array, channels=False, spacing=(3, 2, 1.5)).save(folder / "a.nii")
        seeds.append(path.read_bytes())
    return Target("nifti", "a.nii", seeds, staf.open, magic=b"\x5c\x01\x00\x00")


def _packed_niftis(folder: Path) -> Target:
    def packed(data: bytes) -> bytes:
        return gzip.compress(data, 1, mtime=0)

    return Target("packed", "a.nii.gz", _niftis(folder).seeds, staf.open, repair=packed)


def _dicoms(folder: Path) -> Target:
    write_slice(folder / "a.dcm", np.arange(20).reshape(4, 5), 2.0)

    def restored(data: bytes) -> bytes:
        return data[:128] + b"DICM" + data[132:]

    return Target("dicom", "a.dcm", [(folder / "a.dcm").read_bytes()], staf.open, repair=restored)


def _scenes(folder: Path) -> Target:
    scene = write_blender(folder / "scene", train=2, test=0, size=4)
    poses = scene / "transforms_train.json"
    blender = poses.read_bytes()
    frames = blender.replace(
        b"{", b'{"fl_x": 5, "fl_y": 4.5, "cx": 2, "cy": 2, "w": 4, "h": 4, "k1": 0.1, "p1": 0.01, ', 1
    )

    def open_scene(path: Path) -> Any:
        poses.write_bytes(path.read_bytes())
        return staf.open(scene)

    return Target("scene", "transforms.json", [blender, frames], open_scene)


MAKERS: dict[str, Callable[[Path], Target]] = {
    "grid": _arrays,
    "npz": _archives,
    "nifti": _niftis,
    "packed": _packed_niftis,
    "dicom": _dicoms,
    "scene": _scenes,
}
