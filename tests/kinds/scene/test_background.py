"""What is behind photos where nobody says: white behind transparent ones, otherwise the colour of their borders."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

import staf
from staf.kinds.scene.background import background_of
from staf.kinds.scene.task import Radiance
from staf.signals.errors import SignalError
from staf.training import run
from tests.kinds.scene import procedural
from tests.kinds.scene.small import HALF, field, recipe

GREEN = (40, 120, 60)


def repainted(folder, paint):
    for path in folder.glob("t*/*.png"):
        paint(Pillow.open(path)).save(path)
    return folder


def on_green(photo):
    ground = Pillow.new("RGBA", photo.size, (*GREEN, 255))
    ground.alpha_composite(photo)
    return ground


@pytest.fixture
def folder(tmp_path):
    return procedural.write_blender(tmp_path / "scene", train=3, test=1, size=16)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_opaque_photos_are_seen_before_the_colour_of_their_borders(folder, mode):
    scene = staf.Scene.read(repainted(folder, lambda photo: on_green(photo).convert(mode)))
    assert scene.train.pixels.shape[-1] == 3
    assert scene.background == pytest.approx([value / 255 for value in GREEN], abs=1e-5)
    assert scene.notes == []
    # A field of nothing shows it, and is right wherever the photos show nothing.
    shown = scene.render(lambda x: torch.zeros(len(x), 4)).train.pixels[0]
    assert (shown == torch.tensor(GREEN)).all()
    same = (shown == scene.test.pixels[0]).all(-1)
    assert torch.equal(same, procedural.traced(scene.test.cameras)[0][0, ..., 3] == 0)
    assert staf.Scene.read(folder, background=(1, 1, 1)).background == (1, 1, 1)


def test_opaque_photos_are_learnt(tmp_path):
    """Better than one colour; with white behind them 60 steps are worse than that."""
    folder = procedural.write_blender(tmp_path, train=10, test=2, size=16)
    repainted(folder, lambda photo: on_green(photo).convert("RGB"))
    scene = staf.Scene.read(folder, half=HALF).changed(ray_samples=96)
    result = run(Radiance(scene, samples=8192, resolution=24), field(), recipe(60), progress=False)
    one_colour = scene.test.pixels.float() / 255 - scene.values().mean(0)
    assert result.metrics["psnr"] > 1 - 10 * float(one_colour.square().mean((1, 2, 3)).log10().mean())


def test_transparent_photos_are_put_on_white(folder):
    scene = staf.open(folder)
    assert scene.background == (1, 1, 1)
    assert scene.train.pixels.shape[-1] == 4


def test_borders_of_many_colours_show_surroundings():
    photos = torch.arange(16 * 16 * 3, dtype=torch.uint8).reshape(1, 16, 16, 3).expand(3, -1, -1, -1)
    colour, surrounded = background_of(photos)
    assert surrounded
    assert max(colour) < 0.8
    # A few levels of noise are one colour.
    noisy = 100 + torch.randint(0, 9, (2, 16, 16, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    assert not background_of(noisy)[1]


def test_a_box_reaches_to_the_cameras_where_photos_show_surroundings(folder):
    def wall(photo):
        ground = Pillow.fromarray(np.indices((16, 16)).sum(0).astype(np.uint8) * 8).convert("RGBA")
        ground.alpha_composite(photo)
        return ground

    repainted(folder, wall)
    scene = staf.open(folder)
    assert scene.half == pytest.approx(4, rel=0.02)
    assert any(note.startswith("the photos are opaque and their borders have many colours") for note in scene.notes)
    assert staf.Scene.read(folder, centre=(0, 0, 0), half=1.5).half == 1.5


def test_photos_of_nothing_are_refused(folder):
    repainted(folder, lambda photo: Pillow.new("RGBA", photo.size))
    with pytest.raises(SignalError, match="every pixel of the photos is transparent: there is nothing to fit"):
        staf.Scene.read(folder)


def test_the_command_of_a_fit_repeats_its_background(folder):
    repainted(folder, on_green)
    scene = staf.open(folder)
    words = scene.view.command_options({})
    assert words is not None
    assert "--background" not in words
    assert "--background black" in " ".join(scene.changed(background=(0, 0, 0)).view.command_options({}))
    # A colour that no option names.
    assert scene.changed(background=(0.1, 0.2, 0.3)).view.command_options({}) is None
    assert np.allclose(json.loads(json.dumps(scene.metadata()))["background"], scene.background)
