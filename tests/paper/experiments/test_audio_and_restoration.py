"""Audio, super-resolution and denoising as experiments: run small, drawn from their files alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from paper.__main__ import load, main
from paper.experiments.audio import Audio, AudioRun, plan_of
from paper.protocols.published import MODELS
from paper.report.protocol_table import protocol_table
from paper.runner import load_results
from staf.kinds import Audio as Recording
from tests.tasks.pictures import scene

COMMON = ["--workers", "1", "--device", "cpu", "--no-progress", "--models", "staf", "siren", "--steps", "2"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("wave.npy", np.sin(np.arange(1500) * 0.1).astype(np.float32))
    np.save("scene.npy", scene(25, 32).array)
    return tmp_path


def test_audio(here, capsys):
    words = ["audio", "--recording", "wave.npy", "--rate", "8000", "--protocols", "ours", "paper", "released"]
    assert main([*words, *COMMON, "--folder", "r"]) == 0
    results = load_results(here / "r", "audio")
    assert len(results) == 6
    assert {"psnr", "log_spectral_distance"} <= set(results[0].metrics)
    said = capsys.readouterr().out
    assert "spectral distance" in said
    assert (here / "r" / "audio.png").stat().st_size > 10_000
    recipes = {r.configuration["protocol"]: r.details["recipe"]["convention"] for r in results}
    assert recipes == {"ours": "centres", "paper": "ends", "released": "ends"}


def test_super_resolution(here, capsys):
    assert (
        main(
            [
                "super-resolution",
                "--images",
                "scene.npy",
                *COMMON,
                "--folder",
                "r",
                "--protocols",
                "ours",
                "points",
                "paper",
            ]
        )
        == 0
    )
    results = load_results(here / "r", "super-resolution")
    by_model = {result.configuration["model"] for result in results}
    assert by_model == {"staf", "siren", "bicubic", "Lanczos"}
    assert all(r.arrays()["restored"].shape == (24, 32, 3) for r in results)
    said = capsys.readouterr().out
    assert "paper: PSNR (dB)" in said
    assert "30.54" in said
    assert (here / "r" / "super-resolution.png").stat().st_size > 10_000


def test_denoising(here, capsys):
    words = ["denoising", "--images", "scene.npy", "--readout", "2", "--protocols", "ours", "released"]
    assert main([*words, *COMMON, "--folder", "r"]) == 0
    results = load_results(here / "r", "denoising")
    assert {r.configuration["model"] for r in results} == {"staf", "siren", "total variation", "non-local means"}
    for result in results:
        assert result.metrics["oracle_psnr"] >= result.metrics["psnr"] - 1e-4
    observed = [r.arrays()["observed"] for r in results]
    assert all(np.array_equal(observed[0], other) for other in observed)
    assert "24.19" in capsys.readouterr().out
    shown = {(row[0], row[1]) for row in load("denoising").tables(results)[0].rows}
    assert {("total variation", "-"), ("non-local means", "-"), ("staf", "ours"), ("staf", "released")} <= shown


def test_every_network_has_a_plan_under_every_protocol():
    recording = Recording(np.sin(np.arange(4000) * 0.1), rate=4000)
    for model in MODELS:
        for protocol in ("ours", "paper", "released"):
            chosen = plan_of(recording, AudioRun(model, protocol), "cpu")
            assert chosen.field(0) is not None
    sines = plan_of(recording, AudioRun("siren", "paper"), "cpu").field(0).architecture["arguments"]
    assert (sines["omega0"], sines["hidden_omega0"]) == (3000.0, 30.0)


def test_the_paper_is_told_beside_its_network_only(here):
    main(["super-resolution", "--images", "scene.npy", *COMMON, "--folder", "r", "--no-figures"])
    results = load_results(here / "r", "super-resolution")
    drawn = protocol_table("t", results, {"psnr": ("dB", 2)}, {"staf": {"psnr": 1.25}})
    column = drawn.columns.index("paper: dB")
    assert {row[0]: row[column] for row in drawn.rows} == {
        "staf": "1.25", "siren": "-", "bicubic": "-", "Lanczos": "-"}  # fmt: skip


def test_mistakes_are_named(here, capsys):
    for words, message in {
        ("audio",): "needs data: ",
        ("audio", "--recording", "wave.npy", "--models", "sirren"): "no model 'sirren'",
        ("super-resolution",): "needs data: ",
        ("denoising", "--images", "scene.npy", "--photons", "-1"): "count must be a positive",
    }.items():
        assert main([*words, "--workers", "1", "--folder", "r"]) == 2
        assert message in capsys.readouterr().err


def test_planning_needs_no_torch():
    code = "import sys, paper.experiments.audio, paper.experiments.denoising, paper.experiments.super_resolution as s; "
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert Audio("x").name == "audio"


def test_the_released_protocol_has_the_released_network(here):
    from paper.data.images import open_image
    from paper.experiments import denoising, super_resolution

    image = open_image("scene.npy")
    for module, run in ((denoising, denoising.DenoisingRun), (super_resolution, super_resolution.SuperResolutionRun)):
        laws, rates = {}, {}
        for protocol in ("ours", "paper", "released"):
            configuration = run("scene", "staf", protocol)
            chosen = module.plan_of(module.task_of(image, configuration), configuration, "cpu")
            laws[protocol] = chosen.field(0).architecture["arguments"]["law"]
            rates[protocol] = chosen.recipe.rate
        assert laws == {"ours": "siren_start", "paper": "theorem", "released": "released"}
        published = (1.5e-4, 2.5e-4) if module is denoising else (1e-3, 1e-3)
        assert (rates["paper"], rates["released"]) == published


def test_methods_without_a_network_can_be_run_alone_or_left_out(here):
    words = ["super-resolution", "--images", "scene.npy", "--workers", "1", "--device", "cpu", "--no-progress"]
    assert main([*words, "--models", "--folder", "alone", "--no-figures"]) == 0
    assert {r.configuration["model"] for r in load_results(here / "alone")} == {"bicubic", "Lanczos"}
    assert main([*words, "--models", "siren", "--classical", "--steps", "1", "--folder", "out", "--no-figures"]) == 0
    assert {r.configuration["model"] for r in load_results(here / "out")} == {"siren"}


def test_a_row_that_lacks_an_image_has_no_mean(here):
    from paper.report.restored_images import image_table

    np.save("other.npy", scene(16, 16).array)
    words = ["super-resolution", "--workers", "1", "--device", "cpu", "--no-progress", "--no-figures", "--folder", "r"]
    main([*words, "--models", "--images", "scene.npy"])
    main([*words, "--models", "--classical", "bicubic", "--images", "other.npy"])
    drawn = image_table("t", load_results(here / "r"), {"bicubic": {"psnr": 9.0}})
    rows = {row[0]: dict(zip(drawn.columns, row, strict=True)) for row in drawn.rows}
    assert drawn.rows[0][0] == "bicubic"
    assert rows["Lanczos"]["other"] == rows["Lanczos"]["mean"] == "-"
    mean = (float(rows["bicubic"]["scene"]) + float(rows["bicubic"]["other"])) / 2
    assert float(rows["bicubic"]["mean"]) == pytest.approx(mean, abs=0.02)
    assert rows["bicubic"]["paper's, other images"] == "9.00"
