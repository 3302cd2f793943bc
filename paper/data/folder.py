"""The data of an experiment from one folder: one the user names, or small data made for a quick run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from staf._files import atomic_path

RECORDINGS = (".wav", ".flac", ".ogg", ".aiff", ".npy")
SHAPES = (".ply", ".obj", ".stl", ".off", ".npz")
QUICK_SIDE, QUICK_RATE, QUICK_RESOLUTION = 16, 8000, 12


def fill_data(arguments: argparse.Namespace, option: str, folder: Path | None) -> None:
    """Set the experiment's data option (`images`, `recording`, `shapes` or `scenes`) to what the folder holds.

    >>> arguments = argparse.Namespace(images=[], recording=None)
    >>> fill_data(arguments, "images", Path("."))
    >>> arguments.images
    ['.']
    """
    if folder is None:
        return
    if named_data(arguments):
        raise ValueError(f"--data and --{option} both name the data: give one of them")
    if not folder.exists():
        raise ValueError(f"--data must be a folder with the data, and there is no {str(folder)!r}")
    setattr(arguments, option, _found(option, folder))


def named_data(arguments: argparse.Namespace) -> bool:
    """Whether one of the data options is set."""
    return any(getattr(arguments, name, None) for name in ("images", "recording", "shapes", "scenes"))


def _found(option: str, folder: Path) -> Any:
    if option == "images":
        return [str(folder)]
    suffixes = RECORDINGS if option == "recording" else SHAPES
    if not folder.is_dir():
        raise ValueError(f"--data must be a folder, got {str(folder)!r}")
    if option == "scenes":
        return _scenes(folder)
    files = sorted(str(path) for path in folder.iterdir() if path.suffix.lower() in suffixes)
    if not files:
        raise ValueError(f"--data must hold a file of type {', '.join(suffixes)}, got {str(folder)!r}, which has none")
    if option == "recording" and len(files) > 1:
        raise ValueError(f"--data must hold one recording, got {', '.join(files)}: name one with --recording")
    return files if option == "shapes" else files[0]


def _scenes(folder: Path) -> list[str]:
    """The folder itself where it is a scene; otherwise every scene in it, as a folder or packed."""
    if any(folder.glob("transforms*.json")):
        return [str(folder)]
    found = sorted(
        {str(path.parent) for path in folder.glob("*/transforms*.json")} | set(map(str, folder.glob("*.npz")))
    )
    if not found:
        raise ValueError(f"--data must hold scenes (folders with transforms_train.json, or .npz), got {str(folder)!r}")
    return found


def write_quick_data(folder: Path, option: str) -> Path:
    """Write small data of one kind, which needs numpy alone to read; the folder that holds them."""
    path = folder / option
    path.mkdir(parents=True, exist_ok=True)
    if option == "images":
        y, x = np.mgrid[0:QUICK_SIDE, 0:QUICK_SIDE] / QUICK_SIDE
        noise = 0.1 * np.random.default_rng(0).random((QUICK_SIDE, QUICK_SIDE, 3))
        picture = np.clip(np.stack([x, y, x * y], -1) + noise, 0, 1)
        _save(path / "ramp.npy", (255 * picture).astype(np.uint8))
    elif option == "recording":
        _save(path / "tone.npy", np.sin(2 * np.pi * 220 * np.arange(1500) / QUICK_RATE).astype(np.float32))
    elif option == "scenes":
        from paper.data.scenes import ball_scene, pack_scene

        pack_scene(ball_scene(), path / "ball.npz")
    else:
        from paper.data.shapes import pack_shape
        from staf.kinds import Shape

        corners = np.concatenate([np.eye(3), -np.eye(3)])
        faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
        octahedron = Shape.from_arrays(corners, np.array(faces), resolution=QUICK_RESOLUTION)
        pack_shape(octahedron, path / "octahedron.npz")
    return path


def _save(path: Path, array: np.ndarray) -> None:
    with atomic_path(path) as temporary:
        np.save(temporary, array)
