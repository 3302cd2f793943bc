"""Scenes on the command line: fit a folder, draw views, paths and given cameras, a film and a mesh."""

from __future__ import annotations

import json
import shutil

import PIL.Image
import pytest

import staf as library
from tests.kinds.scene.procedural import write_blender

TINY = ("--steps", 3, "--ray-samples", 24, "--no-progress")


@pytest.fixture
def folder(here):
    return write_blender(here / "ball", train=3, test=2, size=8)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = write_blender(tmp_path_factory.mktemp("scene") / "ball", train=3, test=2, size=8)
    fit = library.fit(library.Scene.read(folder).changed(ray_samples=24), steps=3, progress=False)
    return fit.save(folder / "model.safetensors")


@pytest.fixture
def field(fitted, here):
    (here / "run").mkdir()
    shutil.copy(fitted, here / "run" / "model.safetensors")
    return "run/model.safetensors"


def test_a_folder_is_fitted_and_reported(staf, folder, here):
    ran = staf("fit", folder, *TINY, "--json", "--background", "black", "--network", "mlp", "--model", "siren")
    assert ran.code == 0, ran.err
    assert ran.json["out"] == "runs/ball-siren"
    assert set(ran.json["metrics"]) >= {"psnr", "ssim"}
    run = here / "runs" / "ball-siren"
    # Two held-out views beside each other or one above the other.
    assert sorted(PIL.Image.open(run / "reconstruction.png").size) in ([8, 16], [16, 16])
    page = (run / "report.html").read_text()
    assert "test/r_0.png, a view that was held out" in page
    assert page.count('class="holder"') == 3
    assert "3 photos of 8x8, 2 held out, from <bdi>ball</bdi>, fitted by radiance of siren layers<" in page
    assert f"{ran.json['metrics']['psnr']:.2f} dB, 2 held-out views" in page
    assert "one fresh pass over 2 held-out views" in json.loads((run / "metrics.json").read_text())["protocol"]
    config = json.loads((run / "config.json").read_text())
    command = config["reproduce"]["command"]
    assert "--model siren" in command
    assert "--network mlp" in command
    assert "--background black" in command
    assert "staf.Scene.read(" in config["reproduce"]["python"]


def test_a_reported_command_repeats_the_fit(staf, folder, here):
    assert staf("fit", folder, *TINY, "--downscale", 2, "--half", 1.2, "--out", "first").code == 0
    words = json.loads((here / "first" / "config.json").read_text())["reproduce"]["command"].split()[1:]
    assert staf(*words, "--out", "second", "--no-progress").code == 0
    measures = [json.loads((here / name / "metrics.json").read_text())["psnr"] for name in ("first", "second")]
    assert measures[0] == measures[1]


def test_a_finished_run_is_continued_and_its_config_used(staf, folder, here):
    opened = ("--downscale", 2, "--centre", -0.1, 0, 0.1, "--half", 1.2, "--ray-samples", 24)
    assert staf("fit", folder, "--steps", 3, "--model", "siren", *opened, "--out", "first").code == 0
    ran = staf("fit", "--continue", "first", "--steps", "+2", "--json")
    assert ran.json["steps"] == 5
    first, second = (json.loads((here / run / "config.json").read_text()) for run in ("first", "first-5-steps"))
    assert {**first["signal"], "notes": []} == {**second["signal"], "notes": []}
    assert first["architecture"] == second["architecture"]
    assert staf("fit", folder, *opened, "--config", "first/config.json", "--steps", 3, "--out", "third").code == 0
    assert (here / "first" / "model.safetensors").read_bytes() == (here / "third" / "model.safetensors").read_bytes()
    first["architecture"]["arguments"]["activation"] = "none"
    (here / "first" / "config.json").write_text(json.dumps(first))
    assert "is of no network with known layers" in staf("fit", "--continue", "first").refused()


def test_missing_photos_are_refused_or_left_out(staf, folder):
    (folder / "train" / "r_1.png").unlink()
    assert "(1 of 5 photos is missing)" in staf("fit", folder, *TINY).refused()
    ran = staf("fit", folder, *TINY, "--skip-missing")
    assert ran.code == 0
    assert "note: frame 1 of transforms_train.json: the photo './train/r_1' does not exist (1 of 5" in ran.err


def test_views_paths_and_given_cameras(staf, field, folder, here):
    assert staf("render", field).out.strip() == "run/model-views.png: 2 views of 8x8 pixels"
    assert staf("render", field, "--views", "1", "--size", "6x4", "--subpixels", 2, "-o", "one.png").code == 0
    assert PIL.Image.open("one.png").size == (6, 4)
    assert staf("render", field, "--path", "orbit", "--frames", 3, "-o", "o.gif").code == 0
    assert PIL.Image.open("o.gif").n_frames == 3
    given = staf("render", field, "--camera", folder / "transforms_train.json", "-o", "given.npz")
    assert "3 views of 8x8 pixels" in given.out
    assert staf("render", field, "--path", "orbit", "--frames", 2, "--depth").out.startswith("run/model-orbit-depth.")
    assert staf("render", field, "--depth", "-o", "depth.png").code == 0
    assert PIL.Image.open("depth.png").mode.startswith("I")


def test_an_mp4_is_written_one_frame_at_a_time(staf, field, monkeypatch):
    av = pytest.importorskip("av")
    monkeypatch.setattr("staf.kinds.scene.paths.MOST_TOGETHER", 8 * 8)
    words = ("render", field, "--path", "orbit", "--frames", 3)
    assert staf(*words, "-o", "o.mp4").out.strip() == "o.mp4: 3 views of 8x8 pixels"
    with av.open("o.mp4") as film:
        assert len(list(film.decode(video=0))) == 3
    assert staf(*words, "--size", "9x8", "-o", "odd.mp4").out.strip() == "odd.mp4: 3 views of 8x8 pixels"
    with av.open("odd.mp4") as film:
        assert film.streams.video[0].width == 8
    for kept in ("o.gif", "o.npz", "o.png"):
        assert "3 pictures of 8x8 have 192 pixels, more than the 64 that are kept" in staf(*words, "-o", kept).refused()


def test_a_scene_is_exported_as_a_mesh(staf, field, monkeypatch):
    # A field that was hardly trained is haze.
    monkeypatch.setattr("staf.kinds.scene.surface.LEVEL", 1e-4)
    ran = staf("export", "run", "-o", "m.ply", "--resolution", 8)
    assert ran.code == 0, ran.err
    assert "vertices" in ran.out
    assert staf("export", "run", "-o", "views.png").code == 0
    assert "resolution is of a mesh" in staf("export", "run", "-o", "v.png", "--resolution", 8).refused()


def test_a_mesh_in_the_scenes_units(staf, field, here):
    loaded = library.load(field)
    level = 1e-4
    ran = staf("render", field, "--resolution", 12, "--level", level, "-o", "m.ply")
    assert ran.code == 0, ran.err
    assert "vertices" in ran.out
    half = loaded.signal.half
    assert abs(library.open("m.ply").mesh.vertices).max() <= half * 1.2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--size", "big"), "--size must be WIDTHxHEIGHT, such as 640x480, got 'big'"),
        (("--views", "a"), "--views must be whole numbers with commas between them"),
        (("--views", "9", "-o", "a.png"), "views must be between 0 and 1, got [9]"),
        (("--frames", "3", "-o", "a.png"), "frames are those of a path"),
        (("--resolution", "9", "-o", "a.png"), "--resolution is of a mesh, which ends in .ply"),
        (("--depth", "-o", "a.ply"), "--depth is of a picture or a film"),
        (("--camera", "gone.json", "-o", "a.png"), "cannot read cameras from 'gone.json': there is no such file"),
        (("--camera", "run", "-o", "a.png"), "cannot read cameras from 'run': it is a folder"),
        (("--size", "30000x30000", "-o", "a.png"), "at most 67,108,864 pixels in all, got 30000x30000"),
        (("--path", "orbit", "--camera", "x.json", "-o", "a.png"), "both say where the camera is"),
        (("-o", "a.foo"), "a fitted scene is written as .png"),
    ],
)
def test_mistakes_are_one_line(staf, field, words, message):
    staf("--version")
    assert message in staf("render", field, *words).refused()


def test_folders_and_photos_that_cannot_be_fitted(staf, folder, here):
    (here / "empty").mkdir()
    assert "it is a folder, and one of a scene has transforms_train.json" in staf("fit", here / "empty").refused()
    assert "scenes are fitted with layers of one of" in staf("fit", folder, "--model", "mfn").refused()
    assert "downscale must be a whole number" in staf("fit", folder, "--downscale", 0).refused()
    (folder / "train" / "r_1.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    message = staf("fit", folder, *TINY).refused()
    assert message.startswith("cannot open")
    assert message.count("cannot open") == 1
    assert "frame 1 of transforms_train.json: cannot read the photo 'train/r_1.png'" in message


def test_a_box_is_given_where_cameras_show_none(staf, folder, here):
    document = json.loads((folder / "transforms_train.json").read_text())
    document["frames"] = document["frames"][:1]
    for split in ("train", "test"):
        (folder / f"transforms_{split}.json").unlink()
    (folder / "transforms.json").write_text(json.dumps(document))
    assert "there is one camera" in staf("fit", folder, *TINY).refused()
    ran = staf("fit", folder, *TINY, "--centre", -1e-5, 0, 0.25, "--half", 1.2, "--out", "one")
    assert ran.code == 0, ran.err
    assert staf("render", "one", "--path", "orbit", "--frames", 2, "-o", "o.gif").code == 0
    words = json.loads((here / "one" / "config.json").read_text())["reproduce"]["command"].split()[1:]
    assert "--centre" in words
    assert staf(*words, "--out", "again", "--no-progress").code == 0
    signals = [library.load(f"{run}/model.safetensors").signal for run in ("one", "again")]
    assert (signals[0].centre, signals[0].half) == (signals[1].centre, signals[1].half) == ((-1e-5, 0, 0.25), 1.2)


def test_networks_are_compared_on_a_view(staf, here):
    folder = write_blender(here / "small", train=2, test=1, size=4)
    ran = staf("compare", folder, "--models", "staf", "pemlp", "--steps", 2, "--json", "--no-progress", "-o", "c")
    assert ran.code == 0, ran.err
    assert {row["model"] for row in ran.json["models"]} == {"staf", "pemlp"}
    assert (here / "c" / "comparison.png").exists()


def test_compared_networks_take_the_options_of_scenes(staf, here):
    folder = write_blender(here / "small", train=2, test=1, size=4)
    words = ("compare", folder, "--models", "siren", "--steps", 2, "--json", "--no-progress", "-o", "c")
    scene = ("--network", "mlp", "--downscale", 2, "--background", "black", "--half", 1.3, "--subpixels", 2)
    ran = staf(*words, *scene)
    assert ran.code == 0, ran.err
    signal = library.load(ran.json["models"][0]["file"]).signal
    assert (signal.network, signal.background, signal.half, signal.subpixels) == ("mlp", (0, 0, 0), 1.3, 2)
    assert signal.cameras.width == 2
    # Other options are another comparison, of which nothing is finished.
    again = staf(*words, *scene, "--half", 1.2, "--resume")
    assert library.load(again.json["models"][0]["file"]).signal.half == 1.2
    assert "Fit several networks to a scene" in staf("compare", folder, "--help").out
