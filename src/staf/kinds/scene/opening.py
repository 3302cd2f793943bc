"""A scene's folder, opened: photos to fit and to be measured on, the box around what they show, and what is behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from staf.kinds.scene.background import SURROUNDED, background_of, is_empty
from staf.kinds.scene.bounds import bounds, box_notes
from staf.kinds.scene.checks import Triple
from staf.kinds.scene.reading import Views, read_views
from staf.signals.errors import SignalError

NONE_HELD_OUT = (
    "no views are held out: measures are those of the first photos that were fitted; to hold some out, list them in "
    "transforms_test.json (Blender) or in test_filenames of transforms.json (nerfstudio)"
)


class Opened(NamedTuple):
    """What a folder says of a scene, as `Scene` takes it."""

    train: Views
    test: Views | None
    centre: Triple
    half: float
    background: Sequence[float]
    notes: list[str]


def opened(
    folder: Path,
    *,
    downscale: int,
    background: Sequence[float] | None,
    centre: Sequence[float] | None,
    half: float | None,
    max_pixels: int | None,
    skip_missing: bool,
) -> Opened:
    """The folder of a scene; what is not given follows from its photos and cameras, see `Scene.read`."""
    views = read_views(folder, downscale=downscale, max_pixels=max_pixels, skip_missing=skip_missing)
    train, test = views["train"], views.get("test", views.get("val"))
    if is_empty(train.pixels):
        raise SignalError("every pixel of the photos is transparent: there is nothing to fit")
    behind, surrounded = background_of(train.pixels)
    cut_out = train.pixels if train.pixels.shape[-1] == 4 else None
    middle, side = bounds(folder, train.cameras, centre=centre, half=half, surrounded=surrounded, photos=cut_out)
    notes = [*train.notes, *box_notes(train, test, middle, side, refuse=True)]
    notes += [SURROUNDED] * surrounded + [NONE_HELD_OUT] * (test is None)
    return Opened(train, test, middle, side, behind if background is None else background, notes)
