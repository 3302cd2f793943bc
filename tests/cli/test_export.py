from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf as library
from staf.cli import counting
from staf.cli.counting import Counting
from staf.kinds import Audio, Image, Shape
from staf.kinds import open as open_signal
from staf.training import Recipe


def fit(signal, *features, steps=30):
    """A field of a few hundred weights."""
    field = library.siren(*features, width=16, depth=2, omega0=5.0, generator=torch.Generator().manual_seed(0))
    return library.fit(signal, field, Recipe(steps=steps, rate=3e-3), progress=False)


@pytest.fixture
def photo(here):
    y, x = np.mgrid[0:12, 0:16] / 16
    pixels = (np.stack([x, y, (x + y) / 2], axis=-1) * 65535).astype(np.uint16)
    return fit(Image(pixels, name="photo"), 2, 3).save("run/model.safetensors")


@pytest.fixture
def sound(here):
    time = np.arange(300)[:, None] / 1000
    wave = np.sin(2 * np.pi * time * [20, 30]).astype(np.float32) / 2
    return fit(Audio(wave, rate=1000, name="sound"), 1, 2).save("sound.safetensors")


@pytest.fixture
def ball(here):
    """The unit sphere, ten times as large, and far from the origin."""
    mesh = Shape.sphere(subdivisions=2).mesh
    shape = Shape.from_arrays(10 * mesh.vertices + [100, 0, 0], mesh.faces, resolution=16, name="ball")
    return fit(shape, 3, 1, steps=100).save("ball.safetensors")


def test_a_picture_keeps_its_depth_in_any_format_and_size(staf, photo):
    document = staf("export", photo, "-o", "a folder/photo.tiff", "--scale", 2, "--json").json
    assert document == {
        "verb": "export",
        "field": "run/model.safetensors",
        "out": "a folder/photo.tiff",
        "width": 32,
        "height": 24,
    }
    large = open_signal("a folder/photo.tiff")
    assert (large.shape, large.dtype) == ((24, 32), np.dtype(np.uint16))
    assert staf("export", "run", "--out", "photo.PNG", "--size", "20x10").out == "photo.PNG: 20x10 pixels\n"
    assert open_signal("photo.PNG").shape == (10, 20)
    assert staf("export", "run", "-o", "same.npy").code == 0
    assert staf("render", photo, "-o", "rendered.npy").code == 0
    assert np.array_equal(np.load("same.npy"), np.load("rendered.npy"))


@pytest.mark.parametrize("suffix", ["wav", "flac", "ogg"])
def test_a_recording_is_written_at_another_rate(staf, sound, suffix):
    ran = staf("export", sound, "-o", f"song.{suffix}", "--rate", 2000)
    assert ran.out == f"song.{suffix}: 600 samples at 2,000 Hz\n"
    again = open_signal(f"song.{suffix}")
    assert (again.rate, again.array.shape) == (2000, (600, 2))
    wanted = library.load(sound).render(rate=2000).array
    assert np.abs(again.array - wanted).max() < (0.05 if suffix == "ogg" else 1e-4)


def test_the_field_decides_the_options_wherever_it_stands(staf, sound):
    assert staf("export", sound, "-o", "old.wav").code == 0
    assert staf("export", "--overwrite", "-o", "old.wav", sound, "--rate", 500).code == 0
    assert open_signal("old.wav").rate == 500


@pytest.mark.parametrize("suffix", ["ply", "obj", "glb"])
def test_a_shape_is_written_in_its_own_frame_and_scale(staf, ball, suffix):
    document = staf("export", ball, "-o", f"ball.{suffix}", "--resolution", 24, "--json").json
    again = open_signal(f"ball.{suffix}")
    assert (len(again.mesh.vertices), len(again.mesh.faces)) == (document["vertices"], document["faces"])
    assert again.watertight
    radius = np.linalg.norm(again.mesh.vertices - [100, 0, 0], axis=1)
    assert abs(radius.mean() - 10) < 1


def test_windows_are_joined(staf, here):
    wave = Audio(np.sin(np.arange(900) * 0.1), rate=1000, name="long")
    plan = library.Plan(lambda generator: library.siren(1, 1, width=8, depth=1, generator=generator), Recipe(steps=2))
    library.fit_windows(wave, seconds=0.3, overlap=0.05, plan=plan, progress=False, out="long")
    assert staf("export", "long", "-o", "long.flac", "--rate", 500).out == "long.flac: 450 samples at 500 Hz\n"
    wanted = library.load_windows("long").render(rate=500).array
    assert np.abs(open_signal("long.flac").array - wanted).max() < 1e-4
    assert "staf export long -o FILE.wav joins them" in staf("render", "long", "-o", "new.wav").refused()
    assert "a fitted recording is written as .wav" in staf("export", "long", "-o", "long.ply").refused()
    (here / "long/windows.json").unlink()
    assert "finish it first with staf fit-windows --resume" in staf("export", "long", "-o", "new.wav").refused()


@pytest.fixture
def many(here):
    pixels = np.random.default_rng(0).random((6, 8))
    pictures = [Image((pixels * 255).astype(np.uint8), name="a"), Image(pixels.astype(np.float32) * 3, name="b")]
    small = library.Plan(lambda generator: library.siren(2, 1, width=8, depth=1, generator=generator), Recipe(steps=2))
    library.fit_many(pictures, plan=small, out="many", progress=False)


def test_every_network_of_a_data_set_becomes_a_file(staf, many, here):
    document = staf("export", "many", "-o", "pictures", "--scale", 2, "--json").json
    assert document["files"] == {"a": "pictures/a.png", "b": "pictures/b.tiff"}
    assert document["failed"] == {}
    assert [open_signal(path).shape for path in document["files"].values()] == [(12, 16)] * 2
    assert "exists: name another place with --out" in staf("export", "many", "-o", "pictures").refused()
    assert "many holds many fields: staf view shows them" in staf("inspect", "many").refused()
    assert open_signal("pictures/a.png").shape == (12, 16)
    assert staf("export", "many", "-o", "pictures", "--overwrite").out == "pictures: 2 of 2 fields\n"
    assert open_signal("pictures/a.png").shape == (6, 8)
    some = staf("export", "many", "-o", "other", "--format", ".WebP")
    assert (some.code, some.out) == (1, "other: 1 of 2 fields\n")
    assert some.err.startswith("b failed: WebP holds values in [0, 1]")
    assert [path.name for path in (here / "other").iterdir()] == ["a.webp"]


def test_a_field_that_is_gone_loses_no_other(staf, many, here):
    (here / "many/fields/a.safetensors").write_bytes(b"damaged")
    ran = staf("export", "many", "-o", "pictures")
    assert (ran.code, ran.out) == (1, "pictures: 1 of 2 fields\n")
    assert ran.err.startswith("a failed: many/fields/a.safetensors is")
    index = json.loads((here / "many/index.json").read_text())
    index["fields"]["../../a"] = index["fields"].pop("a")
    (here / "many/index.json").write_text(json.dumps(index))
    assert "which is not a file name" in staf("export", "many", "-o", "pictures", "--overwrite").refused()


def test_what_cannot_be_exported(staf, photo, sound, ball, many, here):
    Image(np.zeros((2, 2), np.uint8)).save("picture.png")
    (here / "empty").mkdir()
    for words, message in (
        (["run", "-o", "song.wav"], "a fitted picture is written as .png, .jpg, .jpeg, .tif, .tiff, .webp, .npy"),
        ([sound, "-o", "song.png"], "a fitted recording is written as .wav, .flac, .ogg"),
        ([ball, "-o", "ball.png"], "a fitted shape is written as .ply, .obj, .stl, .glb, .off"),
        (["picture.png", "-o", "again.png"], "picture.png is not a safetensors file"),
        (["empty", "-o", "again.png"], "it is not a folder that staf wrote"),
        (["missing.safetensors", "--rate", "3", "-o", "a.wav"], "missing.safetensors does not exist"),
        ([photo], "--out is missing"),
        (
            [photo, "-o", "picture.png"],
            "picture.png exists: name another place with --out, or replace it with --overwrite",
        ),
        ([photo, "-o", "empty"], "a fitted picture is written as"),
        ([photo, "-o", "new.png", "--format", "png"], "--format is for a folder of fit-many"),
        ([photo, "-o", "new.png", "--size", "3x3", "--scale", "2"], "exclude each other"),
        ([photo, "-o", "new.png", "--rate", "3"], "unknown option --rate"),
        ([sound, "-o", "new.wav", "--rate", "0"], "--rate must be at least 1"),
        ([sound, "-o", "new.mp3", "--rate", "12345"], "MP3 cannot hold 2 channels at 12345 Hz"),
        ([ball, "-o", "new.ply", "--resolution", "1"], "--resolution must be at least 2"),
        (["many", "-o", "all.png"], "many holds 2 fields: name a folder with --out"),
        (["many", "-o", "all", "--format", "wav"], "a fitted picture is written as"),
    ):
        assert message in staf("export", *words).refused()
    assert not [path for path in here.rglob("*") if path.name.startswith(("new.", "again.", "song.", ".staf-"))]


def test_a_shape_can_be_drawn_as_a_picture(staf, ball):
    assert staf("render", ball, "-o", "ball.png", "--pixels", 40, "--up", "z").out == "ball.png: 40x40 pixels\n"
    picture = open_signal("ball.png").array
    assert picture.shape == (40, 40, 4)
    assert picture[20, 20, 3] == 255
    assert picture[0, 0, 3] == 0
    assert "are of a picture: name one with --out" in staf("render", ball, "--azimuth", 3).refused()
    assert "--pixels must be at least 8" in staf("render", ball, "-o", "b.png", "--pixels", 3).refused()


def test_help_follows_the_kind_of_field(staf, photo, sound, ball):
    for field, own, others in (
        ("run", "--size", "--rate"),
        (sound, "--rate", "--resolution"),
        (ball, "--resolution", "--size"),
    ):
        text = staf("export", field, "--help").out
        assert "staf export [-h] [OPTIONS] FIELD" in text
        assert own in text
        assert others not in text


def test_long_work_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(counting, "LINE_SECONDS", 0.0)
    with Counting("export", 200, show=True) as count:
        count.watched(lambda points: points)(range(50))
        assert capsys.readouterr().err.startswith("export: 25%, ")
        count.add(200)
        assert capsys.readouterr().err.startswith("export: more work than expected, ")
    with Counting("export", 200, show=False) as count:
        count.add(200)
    assert capsys.readouterr().err == ""
