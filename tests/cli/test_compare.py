from __future__ import annotations

import signal
from functools import partial

import numpy as np

from staf.api import load
from staf.comparison import networks
from staf.kinds import Shape
from staf.kinds import open as open_signal


def test_a_table_sorted_by_decibels_and_a_figure(staf, picture, here):
    ran = staf("compare", picture, "--models", "gauss", "siren", "siren", "--steps", 5)
    assert ran.code == 0
    folder = here / "runs" / "picture-compare"
    rows = [line.split() for line in ran.out.splitlines() if line.split()[:1] in (["siren"], ["gauss"])]
    assert len(rows) == 2
    assert float(rows[0][1]) > float(rows[1][1])
    said = (folder / "comparison.md").read_text()
    assert "| siren |" in said
    for line in ("siren: learning rates of 0.0", "gauss: learning rates of 0.0"):
        assert line in ran.out
        assert f"- {line}" in said
    assert "figure: runs/picture-compare/comparison.png" in ran.out
    assert open_signal(folder / "comparison.png").width > 800
    assert len(list((folder / "results").glob("*.json"))) == 2


def test_json_names_every_model_s_measures_and_file(staf, picture):
    words = ["compare", picture, "--models", "siren", "finer", "--steps", 3, "--seed", 2, "-o", "c"]
    ran = staf(*words, "--json", "--explain")
    document = ran.json
    decibels = [row["metrics"]["psnr"] for row in document["models"]]
    assert decibels == sorted(decibels, reverse=True)
    assert {row["model"] for row in document["models"]} == {"siren", "finer"}
    assert [row["steps"] for row in document["models"]] == [3, 3]
    for row in document["models"]:
        metadata = load(row["file"]).metadata
        assert (metadata["architecture"]["name"], metadata["seed"]) == (row["model"], 2)
        assert all(reason in ran.err for reason in row["reasons"])


def test_an_existing_comparison_needs_overwrite_or_resume(staf, picture, here, monkeypatch):
    words = ["compare", picture, "--models", "siren", "--steps", 2, "--out", "c", "--no-progress"]
    assert "leave --resume out" in staf(*words, "--resume").refused()
    assert staf(*words).code == 0
    assert "already holds a comparison" in staf(*words).refused()
    assert "give one of them" in staf(*words, "--resume", "--overwrite").refused()
    (result,) = (here / "c" / "results").glob("*.json")
    written = result.stat().st_mtime_ns
    assert staf(*words, "--resume").code == 0
    assert result.stat().st_mtime_ns == written
    assert staf(*words, "--overwrite").code == 0
    assert result.stat().st_mtime_ns > written


def test_an_interrupted_comparison_goes_on(staf, picture, here, monkeypatch):
    words = ["compare", str(picture), "--models", "siren", "finer", "--steps", "20", "--out", "c"]
    whole = networks.fit_network

    def struck(image, model, *budget, **options):
        if model == "finer":
            signal.raise_signal(signal.SIGINT)
        return whole(image, model, *budget, **options)

    with monkeypatch.context() as patch:
        patch.setattr(networks, "fit_network", struck)
        ran = staf(*words)
    assert ran.code == 130
    assert ran.err.splitlines()[-1].endswith(" --out c --resume")
    (finished,) = (here / "c" / "results").glob("*.json")
    document = staf(*words, "--resume", "--json").json
    assert len(document["models"]) == 2
    assert finished.exists()


def test_a_comparison_that_is_stopped_at_once_keeps_nothing_and_says_so(staf, picture, here, monkeypatch):
    def struck(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(networks, "fit_network", struck)
    ran = staf("compare", picture, "--models", "siren", "--steps", "2", "--out", "c")
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "staf: stopped before the first checkpoint: nothing was kept"
    assert not (here / "c").exists()


def test_kinds_that_cannot_be_drawn_are_refused(staf, here):
    np.save("line.npy", np.arange(9.0))
    said = staf("compare", "line.npy", "--steps", 1).refused()
    assert "compare draws images, videos, recordings, meshes and scenes, and line.npy is of kind grid" in said
    header = "".join(f"property float {name}\n" for name in ("x", "y", "z", "nx", "ny", "nz"))
    points = "1 0 0 1 0 0\n0 1 0 0 1 0\n0 0 1 0 0 1\n-1 0 0 -1 0 0\n"
    (here / "cloud.ply").write_text(f"ply\nformat ascii 1.0\nelement vertex 4\n{header}end_header\n{points}")
    said = staf("compare", "cloud.ply", "--resolution", 8, "--steps", 1).refused()
    assert "cloud.ply is of kind cloud" in said


def test_unknown_models_are_refused_before_any_training(staf, picture, here):
    assert "did you mean 'finer'" in staf("compare", picture, "--models", "siren", "finr").refused()
    assert not (here / "runs").exists()


def test_a_model_that_fails_does_not_cost_the_others(staf, picture, monkeypatch):
    whole = networks.fit_network

    def broken(image, model, *budget, **options):
        if model == "gauss":
            raise RuntimeError("cannot\ndo this")
        return whole(image, model, *budget, **options)

    monkeypatch.setattr(networks, "fit_network", broken)
    ran = staf("compare", picture, "--models", "gauss", "siren", "--steps", 2, "--json")
    assert ran.code == 1
    assert [row["model"] for row in ran.json["models"]] == ["siren"]
    assert ran.json["failed"][0]["model"] == "gauss"
    assert "gauss failed: RuntimeError: cannot do this" in ran.err


def test_a_float_image_of_odd_shape(staf, here):
    np.save("very wide.npy", np.random.default_rng(0).normal(size=(2, 90)).astype(np.float32))
    assert staf("compare", "very wide.npy", "--models", "siren", "--steps", 2).code == 0


def test_recordings_and_meshes_are_compared(staf, here, monkeypatch):
    from staf.kinds import Audio
    from staf.kinds.shape import figure

    monkeypatch.setattr(figure, "shape_comparison", partial(figure.shape_comparison, pixels=64))
    time = np.arange(800) / 8000
    Audio(np.sin(2 * np.pi * 220 * time)[:, None].astype(np.float32), rate=8000).save("tone.wav")
    Shape.sphere(subdivisions=1).save("ball.ply")
    shared = ("--models", "siren", "--steps", 12, "--json")
    for file, measure, own in (("tone.wav", "log_spectral_distance", ()), ("ball.ply", "iou", ("--resolution", 8))):
        document = staf("compare", file, *shared, *own, "--out", file[:4]).json
        assert [measure in row["metrics"] for row in document["models"]] == [True]
        assert open_signal(document["figure"]).width > 400
    assert (here / "ball" / "comparison.md").read_text().splitlines()[2].startswith("| model | IoU | PSNR (dB) |")
