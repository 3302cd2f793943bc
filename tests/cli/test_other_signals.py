from __future__ import annotations

import json
import os
import shlex
import signal
from pathlib import Path

import numpy as np
import pytest

from staf import load
from staf.cli.kinds import kind_of, kind_of_field
from staf.kinds import Audio, Shape
from staf.kinds import open as open_signal
from staf.kinds.shape.task import Occupancy
from staf.training.optim.optimiser import Optimiser


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
    document = staf("fit", ball, "--steps", 40, "--resolution", 8, "--width", 64, "--out", "run", "--json").json
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
    budget = ("--steps", 40, "--resolution", 8, "--width", 32, "--depth", 2)
    assert "staf fit --repair" in staf("fit", "open.ply", *budget).refused()
    assert staf("fit", "open.ply", *budget, "--repair", "--out", "repaired").code == 0
    assert staf("fit", "open.ply", *budget, "--allow-open", "--out", "as-it-is").code == 0


def test_voxels_near_the_surface_are_preferred_and_all_are_measured(staf, ball, here):
    common = ("--resolution", 10, "--seed", 3, "--steps", 40, "--width", 32, "--depth", 2)
    sampled = ("--near-surface", 0.9, "--band", 1)
    ran = staf("fit", ball, *common, *sampled, "--out", "run", "--explain", "--json")
    document = ran.json
    assert "voxels are fitted: all within 1 of the surface" in ran.err
    field = load("run/model.safetensors")
    assert field.metadata["sampling"] == {"near_surface": 0.9, "band": 1, "seed": 3}
    every = Occupancy(open_signal(ball).sampled(10))
    assert document["metrics"]["iou"] == every.evaluate(field.predict)["iou"]
    (line,) = [reason for reason in document["reasons"] if "voxels are fitted" in reason]
    assert line.endswith("measures see every voxel")
    words = shlex.split(json.loads(Path("run/config.json").read_text())["reproduce"]["command"])
    again = staf(*words[1:], "--out", "again", "--json").json
    assert again["metrics"] == document["metrics"]


def test_a_fit_of_some_voxels_is_resumed_with_the_same_ones(staf, ball, here, monkeypatch):
    budget = ("--resolution", 10, "--seed", 3, "--steps", 40, "--width", 32, "--depth", 2)
    words = ("fit", ball, *budget, "--out", "run", "--no-progress")
    sampled = ("--near-surface", 0.9, "--band", 1)

    def struck(self):
        os.kill(os.getpid(), signal.SIGINT)
        step(self)

    step = Optimiser.step
    with monkeypatch.context() as patched:
        patched.setattr(Optimiser, "step", struck)
        assert staf(*words, *sampled).code == 130
    assert Path("run/checkpoint.safetensors").exists()
    for others in ((), ("--near-surface", 0.8, "--band", 1), ("--near-surface", 0.9)):
        message = staf(*words, *others, "--resume").refused()
        assert message.startswith("the interrupted fit was started with other voxels")
        assert "--near-surface, --band" in message
    assert staf(*words, *sampled, "--resume").code == 0


def test_a_continued_run_opens_its_signal_as_before(staf, ball):
    opened = ("--resolution", 10, "--near-surface", 0.5, "--seed", 3)
    assert staf("fit", ball, *opened, "--steps", 40, "--width", 32, "--depth", 2, "--out", "first").code == 0
    ran = staf("fit", "--continue", "first", "--steps", "+2", "--json")
    assert ran.json["steps"] == 42
    about = json.loads(Path("first-42-steps/config.json").read_text())
    assert about["sampling"]["near_surface"] == 0.5
    assert shlex.split(about["reproduce"]["command"])[1:] == ["fit", "ball.ply", "--continue", "first", "--steps", "+2"]
    assert staf("fit", ball, "--continue", "first", "--steps", "+2", "--out", "second").code == 0
    other = staf("fit", "--continue", "first", "--resolution", 13).refused()
    assert "a fit of another signal than ball, or of other samples of it" in other
    before = json.loads(Path("first/config.json").read_text())
    damaged = json.loads(json.dumps(before))
    for words, said in ((["--evil", "1"], "unknown option --evil"), (["--help"], "it is damaged")):
        damaged["reproduce"]["signal_options"] = words
        Path("first/config.json").write_text(json.dumps(damaged))
        refused = staf("fit", "--continue", "first").refused()
        assert "first/config.json" in refused
        assert said in refused
    # Runs of earlier versions do not have the options.
    del before["reproduce"]["signal_options"]
    Path("first/config.json").write_text(json.dumps(before))
    assert "the options that it was made with" in staf("fit", "--continue", "first").refused()
    assert staf("fit", "--continue", "first", *opened[:4], "--steps", 1, "--out", "third").code == 0


def test_a_distance_to_a_mesh_is_continued(staf, ball):
    small = ("--resolution", 12, "--seed", 5, "--width", 16, "--depth", 2)
    assert staf("fit", ball, "--signed-distance", "--steps", 40, *small, "--out", "first").code == 0
    assert staf("fit", "--continue", "first", "--steps", "+2", "--json").json["steps"] == 42


def test_what_is_no_share_of_the_voxels(staf, ball, sound):
    assert "near_surface must lie between 0 and 1, got 2" in staf("fit", ball, "--near-surface", 2).refused()
    assert "band must be at least 1" in staf("fit", ball, "--near-surface", 0.5, "--band", 0).refused()
    assert "--band is how far --near-surface reaches" in staf("fit", ball, "--band", 3).refused()
    assert "unknown option --near-surface" in staf("fit", sound, "--near-surface", 0.5).refused()
    told = " ".join(staf("fit", ball, "--help").out.replace("│", " ").split())
    assert "Share of the fitted voxels that lie near the surface" in told


def test_options_follow_the_kind_of_file(staf, sound, ball, picture):
    assert "--resolution" in staf("fit", ball, "--help").out
    assert "--resolution" not in staf("fit", picture, "--help").out
    assert "unknown option --resolution" in staf("fit", sound, "--resolution", 8).refused()
    assert "--resolution is for meshes" in staf("compare", sound, "--resolution", 9, "--steps", 1).refused()


def test_kinds(sound, ball, picture, here):
    assert [kind_of(["--steps", "3", str(path)]) for path in (sound, ball, picture)] == ["audio", "shape", "image"]
    assert (kind_of(["missing.wav"]), kind_of(["--steps", "3"])) == ("audio", "image")
    assert kind_of_field([str(picture)]) == "image"
