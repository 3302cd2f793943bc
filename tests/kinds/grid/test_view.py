from __future__ import annotations

import base64
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import staf
from staf.cli import main
from staf.kinds import Grid
from staf.kinds.grid.view import slices
from staf.reports import configuration, report_html, write_run


def fitted(array, steps=3, **options):
    grid = Grid(array, **options)
    field = staf.siren(grid.in_features, grid.out_features, width=16, depth=2)
    return staf.fit(grid, field, steps=steps, progress=False, device="cpu")


def pictures(html):
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(uri)))) for uri in found]


def test_a_trace_is_drawn_as_lines(tmp_path):
    fit = fitted(np.sin(np.arange(3000)[:, None] / 50 * [1, 2, 3]), channels=True)
    html = write_run(fit, tmp_path).report.read_text("utf-8")
    assert html.count('class="line before"') >= 3
    assert "Channel 3" in html
    assert "3000 samples, 3 channels" in html
    assert "<img" not in html
    assert "<img" not in fit._repr_html_()


def test_a_plane_shows_its_channels():
    array = np.random.default_rng(0).integers(0, 256, (9, 11, 8)).astype(np.uint8)
    fit = fitted(array)
    found = pictures(report_html(fit, {}))
    assert len(found) == 3 * 6, "six of the eight channels: target, reconstruction, error"
    low, high = fit.signal.value_range
    assert np.array_equal(found[3], np.rint((array[..., 1] - low) / (high - low) * 255))
    assert fit._repr_html_().count("<img") == 3


def test_a_volume_shows_three_slices_and_a_sequence_the_middle_of_them():
    volume = np.random.default_rng(0).random((4, 6, 20), np.float32)
    assert len(pictures(report_html(fitted(volume), {}))) == 9
    sequence = Grid(np.arange(3 * 4 * 5 * 20).reshape(3, 4, 5, 20))
    shown = list(slices(sequence, sequence))
    assert [each.title for each in shown] == [
        "axis 0 at 1, axis 1 at 2",
        "axis 0 at 1, axis 2 at 2",
        "axis 0 at 1, axis 3 at 10",
    ]
    assert np.array_equal(shown[1].target, np.asarray(sequence)[1, :, 2, :])


def test_large_slices_are_reduced():
    fit = fitted(np.zeros((2, 700, 1200), np.uint8), steps=1, channels=False)
    sizes = [picture.shape[:2] for picture in pictures(report_html(fit, {}))]
    assert max(max(size) for size in sizes) <= 512


@pytest.mark.parametrize("shape", [(40,), (6, 7, 5), (4, 5, 20)], ids=str)
def test_a_run_folder_and_the_python_that_repeats_it(shape, tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(0).normal(size=shape))
    fit = staf.fit(path, plan=staf.plan(staf.open(path), staf.Budget(steps=2)), progress=False, device="cpu")
    paths = write_run(fit, tmp_path / "run")
    assert paths.reconstruction == tmp_path / "run" / "reconstruction.npy"
    assert np.load(paths.reconstruction).dtype == np.float64
    scope: dict[str, Any] = {}
    exec(configuration.python(fit), scope)
    assert scope["fit"].metrics == fit.metrics


def test_another_layout_is_repeated_too(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(0).normal(size=(6, 7, 5)))
    volume = staf.open(path).with_channels(False)
    fit = staf.fit(volume, plan=staf.plan(volume, staf.Budget(steps=1)), progress=False, device="cpu")
    words = shlex.split(configuration.command(fit) or "")
    assert words[words.index("--channels") + 1] == "none"
    scope: dict[str, Any] = {}
    exec(configuration.python(fit), scope)
    assert scope["fit"].signal.shape == (6, 7, 5)
    np.save(path, np.zeros((6, 7)))
    plane = staf.open(path, kind="grid")
    fit = staf.fit(plane, plan=staf.plan(plane, staf.Budget(steps=1)), progress=False, device="cpu")
    assert configuration.command(fit) is None, "the command would read this file as an image"


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("volume.npy", np.random.default_rng(0).integers(0, 99, (5, 6, 20)).astype(np.int16))

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, capsys.readouterr()

    code, said = run("fit", "volume.npy", "--steps", 2, "--out", "run", "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["files"]["reconstruction"] == "run/reconstruction.npy"
    assert "--channels" in run("fit", "volume.npy", "--help")[1].out
    assert run("fit", "volume.npy", "--steps", 1, "--channels", "last", "--out", "c")[0] == 0
    assert staf.load("c/model.safetensors").signal.out_features == 20
    code, said = run("render", "run/model.safetensors", "--scale", 2)
    assert (code, said.out) == (0, "run/model-10x12x40.npy: 10x12x40 samples\n")
    assert np.load("run/model-10x12x40.npy").dtype == np.int16
    code, said = run("render", "run/model.safetensors", "--crop", "0:5,1:3,0:20", "-o", "part.npy", "--json")
    assert np.load("part.npy").shape == (5, 2, 20)
    assert json.loads(said.out)["axis 1"] == 2
    assert run("export", "run", "-o", "small.npy", "--size", "2x2x2")[0] == 0
    assert np.load("small.npy").shape == (2, 2, 2)
    for words, message in [
        (("render", "run/model.safetensors", "--size", "2x2"), "size must be 3 whole numbers"),
        (("render", "run/model.safetensors", "--size", "a"), "--size must be whole numbers"),
        (("render", "run/model.safetensors", "--crop", "1,2"), "--crop must be START:STOP"),
        (("render", "run/model.safetensors", "-o", "a.png"), "a fitted grid is written as .npy"),
        (("fit", "volume.npy", "--max-pixels", 9, "--out", "x"), "5x6x20 samples, more than max_pixels=9"),
    ]:
        code, said = run(*words)
        assert code == 2
        assert message in said.err
    assert not Path("x").exists()
