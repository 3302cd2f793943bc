from __future__ import annotations

import csv
import json
import math
import os
import shlex
import signal
from pathlib import Path

import numpy as np
import pytest

from staf.api import load
from staf.cli.options import MODEL_NAMES
from staf.cli.resuming import CHECKPOINT
from staf.kinds import Image
from staf.kinds import open as open_signal


def write(path, pixels):
    return Image(np.asarray(pixels, np.uint8)).save(path)


def test_a_fit_leaves_a_whole_run_folder_and_says_where(staf, picture, here):
    ran = staf("fit", picture, "--steps", 5)
    folder = here / "runs" / "picture-staf"
    assert ran.code == 0
    assert "dB PSNR (" in ran.out
    assert "dB of the saved file)" in ran.out
    assert "report: runs/picture-staf/report.html" in ran.out
    assert ", 5 steps in " in ran.out
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "history.csv",
        "metrics.json",
        "model.safetensors",
        "reconstruction.png",
        "report.html",
        "view.html",
    ]
    assert load(folder / "model.safetensors").metadata["steps"] == 5
    assert open_signal(folder / "reconstruction.png").shape == (16, 16)


def test_one_step_is_one_step(staf, picture, here):
    assert " parameters, 1 step in " in staf("fit", picture, "--steps", 1).out


def test_json_is_all_there_is_on_stdout(staf, picture):
    ran = staf("fit", picture, "--steps", 3, "--model", "siren", "--seed", 7, "--out", "o", "--json", "--explain")
    document = ran.json
    assert (document["model"], document["seed"], document["steps"], document["out"]) == ("siren", 7, 3, "o")
    assert document["metrics"]["psnr"] == pytest.approx(json.loads(Path("o/metrics.json").read_text())["psnr"])
    assert document["metrics"]["psnr_of_file"] == json.loads(Path("o/metrics.json").read_text())["psnr_of_file"]
    assert document["files"]["report"] == "o/report.html"
    assert "step 1/3" in ran.err
    # --explain goes beside it, in the plan's own words.
    assert document["reasons"]
    assert all(f"  - {reason}" in ran.err for reason in document["reasons"])


def test_without_explain_and_progress_stderr_is_silent(staf, picture):
    assert staf("fit", picture, "--steps", 2, "--no-progress").err == ""


def test_a_large_picture_is_told_what_the_budget_does_not_count(staf, picture, monkeypatch):
    assert "not counted in --seconds" not in staf("fit", picture, "--steps", 1, "--device", "cpu").err
    monkeypatch.setattr("staf.cli.finish_time.MANY_POINTS", 256)
    monkeypatch.setattr("staf.cli.finish_time.seconds_per_point", lambda field, *_: 1.0)
    said = staf("fit", picture, "--steps", 1, "--device", "cpu", "--overwrite").err
    assert "all 256 pixels are computed once more, to measure and to write them: about 4m16s on this machine" in said
    assert "not counted in --seconds" in said
    assert staf("fit", picture, "--steps", 1, "--device", "cpu", "--overwrite", "--no-progress").err == ""
    monkeypatch.setattr("staf.cli.finish_time.seconds_per_point", lambda field, *_: 0.01)
    assert "not counted in --seconds" not in staf("fit", picture, "--steps", 1, "--device", "cpu", "--overwrite").err


def test_ctrl_c_while_the_folder_is_written_leaves_the_model(staf, picture, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("staf.reports.page.report_html", stopped)
    ran = staf("fit", picture, "--steps", 1, "--out", "o", "--no-progress")
    assert (ran.code, ran.out) == (130, "")
    assert "stopped while the folder was written; o holds what was ready" in ran.err
    assert load("o/model.safetensors").metadata["steps"] == 1


def test_the_seed_decides(staf, picture):
    runs = [staf("fit", picture, "--steps", 3, "--seed", seed, "-o", name, "--json").json
            for seed, name in ((1, "a"), (1, "b"), (2, "c"))]  # fmt: skip
    assert runs[0]["metrics"] == runs[1]["metrics"] != runs[2]["metrics"]


def test_a_target_ends_the_fit_early(staf, picture):
    document = staf("fit", picture, "--steps", 500, "--target-db", 12, "--json").json
    assert document["steps"] < 500
    assert document["stopped"].startswith("reached")
    assert document["metrics"]["psnr"] >= 12


def test_an_existing_run_needs_overwrite_before_any_training(staf, picture, here, monkeypatch):
    assert staf("fit", picture, "--steps", 2).code == 0
    model = here / "runs" / "picture-staf" / "model.safetensors"
    before = model.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("staf.api.fit", lambda *a, **k: pytest.fail("trained"))
        message = staf("fit", picture, "--steps", 3).refused()
    assert "already holds a fit" in message
    assert "--out" in message
    assert "--overwrite" in message
    assert model.read_bytes() == before
    assert staf("fit", picture, "--steps", 3, "--overwrite").code == 0
    assert load(model).metadata["steps"] == 3


@pytest.mark.parametrize(
    ("name", "pixels"),
    [
        ("one pixel", np.full((1, 1), 90)),
        ("one row", np.arange(12)[None] * 20),
        ("one colour", np.full((5, 6, 3), 128)),
        ("very wide", np.arange(1200).reshape(2, 600) % 251),
        ("grey and alpha", np.arange(24).reshape(3, 4, 2)),
        ("Straße 写真 \u00e9", np.arange(20).reshape(4, 5)),
    ],
)
def test_odd_images_fit(staf, here, name, pixels):
    write(f"{name}.png", pixels)
    document = staf("fit", f"{name}.png", "--steps", 4, "--json").json
    assert document["out"] == f"runs/{name}-staf"
    assert math.isfinite(float(document["metrics"]["psnr"])) or document["metrics"]["psnr"] == "inf"
    assert open_signal(document["files"]["reconstruction"]).array.shape == open_signal(f"{name}.png").array.shape


def test_an_unknown_model_suggests_the_nearest(staf, picture, here):
    message = staf("fit", picture, "--model", "sirne").refused()
    assert "did you mean 'siren'" in message
    assert not (here / "runs").exists()


def test_the_models_in_the_help_are_the_library_s(staf):
    from staf.nn import NETWORKS

    assert sorted(MODEL_NAMES) == sorted(NETWORKS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps", "0"], "--steps must be at least 1, got 0"),
        (["--seconds", "-1"], "--seconds must be a positive number, got -1"),
        (["--target-db", "nan"], "--target-db must be a positive number, got nan"),
        (["--device", "tpu"], "--device must be 'cpu', 'cuda' or 'cuda:N', got 'tpu'"),
        (["--device", "meta"], "--device must be 'cpu', 'cuda' or 'cuda:N', got 'meta'"),
        (["--resume"], "there is no interrupted fit in runs/picture-staf"),
        (["--resume", "--overwrite"], "give one of them"),
    ],
)
def test_options_that_cannot_be(staf, picture, here, words, message):
    assert message in staf("fit", picture, *words).refused()
    assert not (here / "runs").exists()


def interrupt(process, number):
    """Strike a fit after its first step; its exit code and stderr."""
    while "step 1/" not in (line := process.stderr.readline()):
        assert line, "ended before the first step"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.mark.parametrize("verb", [["fit"], ["denoise"]])
def test_a_fit_that_is_left_within_a_step_says_what_is_kept(staf, picture, here, monkeypatch, verb):
    def left(*arguments, checkpoint, **more):
        if written:
            checkpoint.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("staf.api.fit", left)
    words, written = [*verb, picture, "--steps", 4, "--out", "run"], False
    ran = staf(*words)
    assert (ran.code, ran.err.strip()) == (130, "staf: stopped by Ctrl-C; nothing was saved")
    written = True
    ran = staf(*words)
    assert ran.code == 130
    assert "the training so far is in run/checkpoint.safetensors, up to when it was written; resume it" in ran.err
    assert ran.err.splitlines()[-1].endswith("--out run --resume")


def test_an_interrupted_fit_says_how_to_go_on_and_does(staf, picture, here, start):
    folder = here / "a folder"
    words = ["fit", picture.name, "--steps", "40", "--out", folder.name]
    code, out, err = interrupt(start([*words, "--overwrite"]), signal.SIGINT)
    assert code == 130
    assert "(stopped by Ctrl-C)" in out
    assert {CHECKPOINT, "model.safetensors", "reconstruction.png", "report.html"} <= set(os.listdir(folder))
    assert load(folder / "model.safetensors").metadata["steps"] < 40
    command = err.splitlines()[-1]
    assert command == shlex.join(["python", "-m", "staf", *words, "--resume"])

    assert "--resume continues it" in staf(*words).refused()
    assert "was started with 40: leave --steps out" in staf(*words, "--resume", "--steps", 41).refused()
    assert "was started with 0: leave --seed out" in staf(*words, "--resume", "--seed", 1).refused()
    assert "was started without it" in staf(*words, "--resume", "--seconds", 9).refused()
    assert "pass --model staf" in staf(*words, "--resume", "--model", "siren").refused()
    document = staf(*shlex.split(command)[3:], "--json").json
    assert document["steps"] == 40
    assert not (folder / CHECKPOINT).exists()
    history = (folder / "history.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in history[1:]] == [str(step) for step in range(40)]


def test_a_hangup_leaves_a_checkpoint_alone_which_can_be_rendered(staf, picture, here, start):
    code, out, err = interrupt(start(["fit", picture.name, "--steps", "10000", "--out", "run"]), signal.SIGHUP)
    assert (code, out) == (128 + signal.SIGHUP, "")
    assert "--resume" in err
    assert os.listdir(here / "run") == [CHECKPOINT]
    assert staf("render", "run", "--scale", 2, "--out", "now.png").code == 0
    assert open_signal("now.png").shape == (32, 32)
    assert staf("render", f"run/{CHECKPOINT}").code == 0
    assert staf("fit", picture, "--steps", 3, "--out", "run", "--overwrite").code == 0
    assert not (here / "run" / CHECKPOINT).exists()


def test_a_finished_run_is_continued_and_its_history_with_it(staf, picture, here):
    small = ("--set", "width=16", "--set", "depth=2")
    assert staf("fit", picture, "--steps", 30, *small, "--out", "first").code == 0
    first = load("first/model.safetensors").metadata["metrics"]["psnr"]
    document = staf("fit", "--continue", "first", "--steps", "+40", "--json").json
    assert document["out"] == "first-70-steps"
    assert document["steps"] == 70
    assert document["metrics"]["psnr"] > first
    assert load("first-70-steps/model.safetensors").metadata["steps"] == 70
    with open("first-70-steps/history.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == [str(step) for step in range(70)]
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    before, after = (json.loads(Path(run, "config.json").read_text()) for run in ("first", "first-70-steps"))
    assert after["recipe"]["rate"] == before["recipe"]["rate"] / 4
    again = after["reproduce"]["command"]
    assert shlex.split(again) == ["staf", "fit", "picture.png", "--continue", "first", "--steps", "+40"]
    assert staf(*shlex.split(again)[1:], "--out", "again", "--json").json["metrics"] == document["metrics"]

    write("other.png", np.zeros((9, 9, 3)))
    assert "a fit of another signal than other" in staf("fit", "other.png", "--continue", "first").refused()
    assert "leave --rate out" in staf("fit", "--continue", "first", "--rate", 1).refused()
    assert "nothing has no model.safetensors" in staf("fit", "--continue", "nothing").refused()
    picture.unlink()
    assert "does not say where its signal is" in staf("fit", "--continue", "first", "--steps", 1).refused()


def test_equal_runs_write_equal_files(staf, picture, here):
    for name in ("one", "two"):
        assert staf("fit", picture, "--steps", 3, "--width", 8, "--depth", 1, "--out", name).code == 0
    equal = ("model.safetensors", "reconstruction.png", "config.json", "view.html")
    assert all((here / "one" / name).read_bytes() == (here / "two" / name).read_bytes() for name in equal)


@pytest.mark.parametrize("what", ["another run", "a file"])
def test_a_folder_that_was_taken_during_training_does_not_cost_the_model(staf, picture, here, monkeypatch, what):
    from staf import api

    def fit_and_take(*arguments, **options):
        done = fit(*arguments, **options)
        if what == "another run":
            write("run/reconstruction.png", np.zeros((2, 2)))
        else:
            (here / "run").rmdir()
            (here / "run").write_text("a file")
        return done

    fit = api.fit
    monkeypatch.setattr(api, "fit", fit_and_take)
    words = ("fit", picture, "--steps", 2, "--width", 24, "--depth", 1, "--out", "run", "--no-progress")
    line = staf(*words).refused()
    rescued = Path(line.rpartition("the fitted model is in ")[2])
    assert load(rescued).metadata["steps"] == 2
    assert rescued.parent.parent == Path()
