"""The parts of the comparison: which data each needs, how it is trained, and the problem that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paper.data.recordings import open_recording
from paper.data.scenes import open_scene
from paper.data.shapes import open_shape
from paper.data.sources import Source, open_source
from paper.runner.experiment import Data
from paper.sines.signals import Problem
from staf._jsonable import digest
from staf.comparison.result_file import array_hash

# Pieces of a recording, of which the first is for the search, as of what is made here.
PIECES = 4
MADE = 3
TONE_RATE = 8000
# The share of a piece that is its gap.
GAP = 0.1
SCENE_OMEGA0 = 30.0
SCENE_PHOTOS, SCENE_VIEWS = 40, 8


@dataclass(frozen=True)
class Given:
    """The data that the user has named."""

    images: Mapping[str, Source] = field(default_factory=dict)
    recording: str = ""
    rate: int = 44100
    shapes: Mapping[str, str] = field(default_factory=dict)
    faces: Mapping[str, Source] = field(default_factory=dict)
    scene: str = ""

    def pictures(self) -> list[Any]:
        """The pictures, opened."""
        return [open_source(source, name) for name, source in self.images.items()]

    def sound(self) -> Any:
        """The recording, opened."""
        return open_recording(self.recording, self.rate)


@dataclass(frozen=True)
class Part:
    """A part of the comparison.

    Args:
        title: of its table.
        size: the option that is its signals' size.
        needs: the option that names its data; empty if they are made here.
        problem: the data, and the size, batch and factor of a run, to its signals.
        optimiser: of its fits; the user's if empty.
    """

    title: str
    size: str
    needs: str
    problem: Callable[[Given, Any], Problem]
    optimiser: str = ""

    def given(self, given: Given) -> bool:
        """Whether there is data for this part."""
        return not self.needs or bool(getattr(given, self.needs))


def _pictures(given: Given, run: Any) -> Problem:
    from paper.sines import signals

    return signals.pictures(given.pictures(), round(run.size), run.factor)


def _recordings(given: Given, run: Any) -> Problem:
    from paper.sines import signals

    return signals.recordings(given.sound(), run.size, PIECES, run.factor)


def _shapes(given: Given, run: Any) -> Problem:
    from paper.sines import signals

    opened = [open_shape(path, round(run.size)) for path in given.shapes.values()]
    return signals.shapes(opened, list(given.shapes), 30.0, run.batch or 2**14)


def _gaps(given: Given, run: Any) -> Problem:
    from paper.sines import gaps, signals

    return gaps.gaps(signals.pieces_of(given.sound(), run.size, PIECES), GAP * run.size)


def _tones(given: Given, run: Any) -> Problem:
    from paper.sines import gaps

    return gaps.gaps(gaps.tones(MADE, TONE_RATE, run.size), GAP * run.size)


def _equations(given: Given, run: Any) -> Problem:
    from paper.sines import equations

    return equations.equations(MADE, round(run.size), told=False)


def _told_equations(given: Given, run: Any) -> Problem:
    from paper.sines import equations

    return equations.equations(MADE, round(run.size), told=True)


def _grids(given: Given, run: Any) -> Problem:
    from paper.sines import decoders

    return decoders.grids(given.pictures(), round(run.size))


def _scenes(given: Given, run: Any) -> Problem:
    from paper.sines import decoders

    scene = open_scene(given.scene)
    factor = max(1, scene.shape[1] // round(run.size))
    test = (scene.test or scene.train).first(SCENE_VIEWS).smaller(factor)
    small = scene.with_photos(scene.train.first(SCENE_PHOTOS).smaller(factor), test)
    # A sample for every half pixel of a ray's way through the box.
    small = small.changed(ray_samples=2 * round(run.size))
    batch = run.batch or 2**14
    return decoders.scenes(small, SCENE_OMEGA0, max(1, batch // 16), batch)


IN_THE_GAP = "signal-to-noise ratio in the gap (dB, 0 is silence)"
PARTS = {
    "pictures": Part("Pictures: PSNR (dB)", "side", "images", _pictures),
    "recordings": Part("Pieces of a recording: PSNR (dB)", "seconds", "recording", _recordings),
    "shapes": Part("Shapes: -10 log10(1 - IoU) (dB)", "resolution", "shapes", _shapes, "muon"),
    "gaps": Part(f"Gaps in a recording: {IN_THE_GAP}", "seconds", "recording", _gaps),
    "tones": Part(f"Gaps in harmonic tones: {IN_THE_GAP}", "seconds", "", _tones),
    "equations": Part("Equations: -20 log10 of the relative error (dB)", "points", "", _equations),
    "told equations": Part("Equations, all frequencies known: the same (dB)", "points", "", _told_equations),
    "grids": Part("Behind a hash grid: PSNR (dB)", "side", "images", _grids),
    "scenes": Part("Scenes: PSNR of held-out views (dB)", "scene_side", "scene", _scenes, "muon"),
}
# Parts that are another one with other first frequencies.
OMEGA0 = {"omega0": "pictures", "omega0 sound": "recordings"}


def data_of(part: str, given: Given, size: float) -> Data:
    """What a part ran on, by the contents of its files."""
    needs = "faces" if part == "codes" else PARTS[OMEGA0.get(part, part)].needs
    if not needs:
        return Data("made", digest("made"))
    if needs == "recording":
        return Data(Path(given.recording).stem, array_hash(given.sound().array))
    if needs == "scene":
        return Data(Path(given.scene).stem, array_hash(open_scene(given.scene).train.pixels.numpy()))
    if needs == "shapes":
        bits = [open_shape(path, round(size)).volume.bits for path in given.shapes.values()]
        return Data(f"{len(bits)} shapes", digest([array_hash(one) for one in bits]))
    sources = getattr(given, needs)
    hashes = [array_hash(open_source(source, name).array) for name, source in sources.items()]
    return Data(f"{len(hashes)} {'faces' if needs == 'faces' else 'pictures'}", digest(hashes))
