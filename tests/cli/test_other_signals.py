from __future__ import annotations

import numpy as np
import pytest

from staf.cli.kinds import kind_of, kind_of_field
from staf.signals import Audio, Shape
from staf.signals import open as open_signal


@pytest.fixture
def sound(here):
    time = np.arange(200) / 1000
    return Audio(np.sin(2 * np.pi * 40 * time).astype(np.float32), rate=1000).save("a sound.wav")


@pytest.fixture
def ball(here):
    return Shape.sphere(subdivisions=2).save("ball.ply")


def test_a_recording_is_fitted_and_rendered_at_another_rate(staf, sound, here):
    document = staf("fit", sound, "--steps", 4, "--out", "run", "--json").json
    assert document["metrics"]["psnr"] > 0
    again = open_signal(document["files"]["reconstruction"])
    assert (again.kind, again.rate, again.array.shape) == ("audio", 1000, (200, 1))
    assert staf("render", "run/model.safetensors", "--rate", 2000, "-o", "twice.wav").code == 0
    assert open_signal("twice.wav").array.shape == (400, 1)
    part = staf("render", "run/model.safetensors", "--start", 0.05, "--stop", 0.1, "--json").json
    assert (part["samples"], part["out"]) == (50, "run/model-1000Hz.wav")
    assert "stop must lie in" in staf("render", "run/model.safetensors", "--stop", 9, "-o", "x.wav").refused()


def test_a_mesh_is_fitted_and_rendered_at_another_resolution(staf, ball, here):
    document = staf("fit", ball, "--steps", 40, "--resolution", 8, "--out", "run", "--json").json
    assert document["metrics"]["iou"] > 0.5
    field = "run/model.safetensors"
    assert "--resolution must be at least 2" in staf("render", field, "--resolution", 1).refused()
    document = staf("render", field, "--resolution", 12, "-o", "fine.obj", "--json").json
    mesh = open_signal("fine.obj").mesh
    assert (len(mesh.vertices), len(mesh.faces)) == (document["vertices"], document["faces"])
    assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1).mean() < 0.3


def test_an_open_mesh_is_refused_repaired_or_taken_as_it_is(staf, ball, here):
    whole = open_signal(ball).mesh
    Shape.from_arrays(whole.vertices, whole.faces[:-3]).save("open.ply")
    budget = ("--steps", 2, "--resolution", 8)
    assert "staf fit --repair" in staf("fit", "open.ply", *budget).refused()
    assert staf("fit", "open.ply", *budget, "--repair", "--out", "repaired").code == 0
    assert staf("fit", "open.ply", *budget, "--allow-open", "--out", "as-it-is").code == 0


def test_options_follow_the_kind_of_file(staf, sound, ball, picture):
    assert "--resolution" in staf("fit", ball, "--help").out
    assert "--resolution" not in staf("fit", picture, "--help").out
    assert "unknown option --resolution" in staf("fit", sound, "--resolution", 8).refused()
    assert "compare draws images" in staf("compare", sound, "--steps", 1).refused()


def test_kinds(sound, ball, picture, here):
    assert [kind_of(["--steps", "3", str(path)]) for path in (sound, ball, picture)] == ["audio", "shape", "image"]
    assert kind_of(["missing.wav"]) == "image"
    assert kind_of_field([str(picture)]) == "image"
