"""Signals of an experiment by name: images from one stacked array or from files, and recordings from arrays.

A machine with numpy alone reads images from one `.npy` of shape (n, h, w) or (n, h, w, c), whose names are in a
`.txt` beside it, a line each; `python -m paper.data.sources OUT.npy IMAGE...` writes both from image files.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paper.data.images import named_paths, open_image
from paper.data.recordings import open_recording
from paper.runner.experiment import Data
from paper.runner.options import count
from staf._files import atomic_path, atomic_write
from staf.comparison.result_file import array_hash


@dataclass(frozen=True)
class Source:
    """Where a signal is read from: a file, image `index` of a stack, or samples at `rate` a second."""

    path: str
    index: int | None = None
    rate: int | None = None


@lru_cache(maxsize=32)
def open_source(source: Source, name: str) -> Any:
    """The signal of a source."""
    if source.rate is not None:
        return open_recording(source.path, source.rate)
    if source.index is None:
        return open_image(source.path)
    from staf.kinds import Image

    return Image(np.array(_stack(source.path)[source.index]), name=name)


@lru_cache(maxsize=1024)
def source_data(source: Source, name: str) -> Data:
    """The signal's name in the experiment and the hash of its samples."""
    return Data(name, array_hash(open_source(source, name).array))


def image_sources(paths: Sequence[str | Path], pick: Sequence[str] = ()) -> dict[str, Source]:
    """Every image of stacks, files and folders by name; `pick` keeps some, by name or by place in the order given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "two.npy", np.zeros((2, 4, 4, 3), np.uint8))
    ...     list(image_sources([Path(folder) / "two.npy"])), list(image_sources([Path(folder) / "two.npy"], ["1"]))
    (['two-0', 'two-1'], ['two-1'])
    """
    found: dict[str, Source] = {}
    for path in map(Path, paths):
        stacked = path.suffix == ".npy" and path.is_file() and _is_stack(str(path))
        entries = _stacked(path) if stacked else {name: Source(file) for name, file in named_paths([path]).items()}
        repeated = sorted(found.keys() & entries.keys())
        if repeated:
            raise ValueError(f"images must differ in name, got {', '.join(repeated)} twice")
        found |= entries
    names = list(found)
    chosen = {}
    for wanted in pick:
        name = names[int(wanted)] if wanted.isdigit() and int(wanted) < len(names) else wanted
        if name not in found:
            raise ValueError(f"--pick must be names or places 0 to {len(names) - 1} of the images, got {wanted!r}")
        chosen[name] = found[name]
    return chosen or found


def write_stack(path: str | Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """Images of one shape as an array (n, h, w, c), and their names beside it."""
    path = Path(path)
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1:
        raise ValueError(f"images of one stack must have the same shape, got {sorted(shapes)}")
    with atomic_path(path) as temporary:
        np.save(temporary, np.stack(list(arrays.values())))
    atomic_write(path.with_suffix(".txt"), "".join(f"{name}\n" for name in arrays))
    return path


def add_source_arguments(parser: argparse.ArgumentParser, *, recordings: bool = True) -> None:
    """Options that name the signals."""
    parser.add_argument(
        "--images", nargs="+", default=[], metavar="PATH", help="a stack of images as .npy, image files, or folders"
    )
    parser.add_argument("--pick", nargs="+", default=[], metavar="N", help="images by place or name (default: all)")
    if recordings:
        parser.add_argument("--recording", default=None, metavar="PATH", help="samples as .npy, in place of images")
        parser.add_argument("--rate", type=count, default=44100, metavar="HZ", help="of the recording")


def chosen_sources(arguments: argparse.Namespace) -> dict[str, Source]:
    """The signals that the options name."""
    recording = getattr(arguments, "recording", None)
    if recording:
        return {Path(recording).stem: Source(recording, rate=arguments.rate)}
    return image_sources(arguments.images, arguments.pick)


@lru_cache(maxsize=4)
def _stack(path: str) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _is_stack(path: str) -> bool:
    shape = _stack(path).shape
    return len(shape) == 4 or (len(shape) == 3 and shape[-1] > 4)


def _stacked(path: Path) -> dict[str, Source]:
    count = len(_stack(str(path)))
    listing = path.with_suffix(".txt")
    names = (
        listing.read_text(encoding="utf-8").splitlines()
        if listing.exists()
        else [f"{path.stem}-{i}" for i in range(count)]
    )
    if len(names) != count:
        raise ValueError(f"{listing} must name the {count} images of {path}, a line each, got {len(names)} names")
    return {name: Source(str(path), index) for index, name in enumerate(names)}


def main(argv: Sequence[str] | None = None) -> int:
    """Stack image files."""
    parser = argparse.ArgumentParser(prog="python -m paper.data.sources", description=main.__doc__)
    parser.add_argument("out", type=Path, help="the .npy to write")
    parser.add_argument("images", nargs="+", help="image files or folders")
    options = parser.parse_args(argv)
    write_stack(options.out, {name: open_image(path).array for name, path in named_paths(options.images).items()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
