from __future__ import annotations

import base64
import copy
import io
import re
import shlex
import wave
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch

import staf
from staf.kinds import Audio, Shape
from staf.kinds.audio.figure import spectrogram
from staf.kinds.audio.view import CLIP_BYTES, clip_uri, spectrum
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.task import Occupancy
from staf.reports import RunError, RunPaths, configuration, report_html, write_run
from staf.reports.measures import measures
from tests.reports.browser import Browser, executable


@pytest.fixture(scope="module")
def sound() -> staf.Fit:
    time = np.arange(400) / 2000
    audio = Audio(np.sin(2 * np.pi * 40 * time).astype(np.float32) / 2, rate=2000, name="a, <b>tone</b>")
    return staf.fit(audio, field=staf.siren(1, 1, width=16, depth=2), steps=20, progress=False, device="cpu")


@pytest.fixture(scope="module")
def ball() -> staf.Fit:
    shape = Shape.sphere(subdivisions=2, resolution=12)
    return staf.fit(shape, field=staf.siren(3, 1, width=24, depth=2, omega0=5), steps=150, progress=False, device="cpu")


@pytest.fixture(scope="module")
def ball_run(ball: staf.Fit, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    return write_run(ball, tmp_path_factory.mktemp("ball"))


def test_a_recording_can_be_heard_and_seen(sound: staf.Fit, tmp_path: Path) -> None:
    paths = write_run(sound, tmp_path)
    assert paths.reconstruction is not None
    assert paths.reconstruction.suffix == ".wav"
    html = paths.report.read_text("utf-8")
    assert html.count('src="data:audio/wav;base64,') == 2
    assert html.count('class="area solid"') == 3
    assert "400 samples at 2000 Hz, mono" in html
    assert "<b>" not in html


def test_the_python_that_repeats_a_recording_has_its_first_sines(tmp_path: Path) -> None:
    time = np.arange(400) / 2000
    Audio(np.sin(2 * np.pi * 40 * time).astype(np.float32) / 2, rate=2000).save(tmp_path / "a.wav")
    fit = staf.fit(tmp_path / "a.wav", steps=np.int64(2), progress=False, device="cpu")
    script = configuration.python(fit)
    assert ".first_layer.enlarge(field, cycles=" in script
    scope: dict[str, Any] = {}
    exec(script, scope)
    assert scope["fit"].metrics == fit.metrics


@pytest.mark.parametrize("near", [None, 0.6], ids=["all voxels", "near the surface"])
def test_a_shape_is_repeated_with_all_its_options(near: float | None, tmp_path: Path) -> None:
    whole = Shape.sphere(subdivisions=2).mesh
    Shape.from_arrays(whole.vertices, whole.faces[3:]).save(tmp_path / "a ball.ply")
    shape = staf.open(tmp_path / "a ball.ply").repaired().sampled(10)
    generator = torch.Generator().manual_seed(0)
    source = shape if near is None else Occupancy(shape, near_surface=near, band=1, generator=generator)
    plan = staf.plan(source, staf.Budget(steps=2))
    fit = staf.fit(source, plan=plan, progress=False, device="cpu")
    words = shlex.split(configuration.command(fit) or "")
    wanted = ["--resolution", "10", "--repair"]
    wanted += [] if near is None else ["--near-surface", "0.6", "--band", "1"]
    assert words[words.index("--resolution") : words.index("--device")] == wanted
    scope: dict[str, Any] = {}
    exec(configuration.python(fit), scope)
    assert scope["fit"].metrics == fit.metrics
    open_one = staf.fit(staf.open(tmp_path / "a ball.ply").sampled(10, allow_open=True), plan=plan, progress=False)
    assert "--allow-open" in (configuration.command(open_one) or "")


def test_clips_are_the_samples_scaled_to_the_peak() -> None:
    array = np.linspace(-0.5, 0.5, 100, dtype=np.float32)[:, None]
    uri = clip_uri(array, 1000, 0.5, seconds=0.05)
    with wave.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))) as file:
        assert (file.getframerate(), file.getnframes(), file.getsampwidth()) == (1000, 50, 2)
        samples = np.frombuffer(file.readframes(50), "<i2")
    assert np.abs(samples / 32767 - array[:50, 0] / 0.5).max() < 1e-4


def test_a_spectrogram_shows_where_a_tone_is(sound: staf.Fit) -> None:
    tone = np.sin(np.arange(4096) * 2 * np.pi * 0.125)
    html = spectrum(tone, 8000, float(spectrogram(tone)[1].max()), "a tone")
    assert "0 to 4 kHz, black 80 dB below" in html
    uri = re.findall(r'src="data:image/png;base64,([^"]+)"', html)[0]
    levels = np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(uri))))
    assert levels.max() == 255
    # A quarter of the way up from silence to half the rate.
    assert abs(int(levels.mean(1).argmax()) / len(levels) - 0.75) < 0.02
    assert report_html(sound, {}).count('class="spectrum"') == 2


def test_the_spectrogram_of_silence_is_black() -> None:
    """Also where only the first of two channels is silent."""
    for array in (np.zeros((3000, 1), np.float32), np.stack([np.zeros(3000), np.sin(np.arange(3000))], axis=1)):
        audio = Audio(array.astype(np.float32), rate=8000)
        html = audio.view.report_section(audio)
        assert "black 80 dB below a tone as high as the peak" in html
        for uri in re.findall(r'src="data:image/png;base64,([^"]+)"', html):
            assert np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(uri)))).max() == 0


def test_a_shape_without_a_surface_yet_has_a_report(tmp_path: Path) -> None:
    field = staf.siren(3, 1, width=8, depth=1)
    torch.nn.init.constant_(field.output.bias, -9.0)
    shape = Shape.sphere(subdivisions=2, resolution=12)
    fit = staf.fit(shape, field=field, steps=2, progress=False, device="cpu")
    reason = "the field has no surface at 0.5: its values are all 0; fit it longer"
    with pytest.raises(RunError, match=rf"but not reconstruction\.ply: {reason}$"):
        write_run(fit, tmp_path)
    html = (tmp_path / "report.html").read_text()
    assert f"Nothing can be shown: {reason}." in html
    assert "<h2>Training</h2>" in html


def test_a_cloud_is_described_by_its_points_and_measured_without_decibels() -> None:
    cloud = staf.PointCloud.sampled(Shape.sphere(subdivisions=2), 200, resolution=12)
    field = staf.siren(3, 1, width=24, depth=2, omega0=5)
    fit = staf.fit(staf.SignedDistance(cloud), field=field, steps=30, progress=False, device="cpu")
    html = report_html(fit, measures(fit, None))
    assert '<p class="lead">200 points with normals, fitted by siren</p>' in html
    assert "Measured with final weights, one fresh pass over all points." in html
    assert "PSNR compares" not in html
    assert "PSNR, dB" not in html
    assert "-10 log10(loss)" in html
    assert "The dot is" not in html


def test_long_recordings_are_cut_and_said_to_be() -> None:
    audio = Audio(np.sin(np.arange(CLIP_BYTES) / 9).astype(np.float32), rate=48000)
    fit = staf.fit(audio, field=staf.siren(1, 1, width=4, depth=1), steps=1, progress=False, device="cpu")
    html = report_html(fit, {})
    assert "the players hold the first 12.5 seconds" in html
    assert len(html) < 5_000_000


def test_a_shape_can_be_seen(ball: staf.Fit, ball_run: RunPaths) -> None:
    assert ball_run.reconstruction is not None
    assert ball_run.reconstruction.suffix == ".ply"
    html = ball_run.report.read_text("utf-8")
    assert html.count('src="data:image/png;base64,') == 3
    first = next(iter(ball.metrics))
    assert f"{ball.metrics[first]:.2f}"[:4] in html


def test_a_shape_of_another_size_can_be_seen_too(ball: staf.Fit) -> None:
    whole = ball.signal.mesh
    smaller = ball.signal.with_mesh(Mesh(0.6 * whole.vertices, whole.faces))
    fit = copy.copy(ball)
    fit._reconstruction = Shape(smaller.mesh, resolution=5)
    pictures = re.findall(r'src="data:image/png;base64,([^"]+)"', report_html(fit, {}))
    target, fitted, painted = (
        np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(uri))))[..., 3] for uri in pictures
    )
    assert np.count_nonzero(fitted) / np.count_nonzero(target) == pytest.approx(0.36, abs=0.02)
    assert np.array_equal(painted, fitted)
    assert np.count_nonzero(target.any(0)) > 0.9 * len(target)


@pytest.mark.skipif(executable() is None, reason="Chromium is not installed: apt-get install chromium")
def test_both_pages_are_quiet_in_a_browser(sound: staf.Fit, ball_run: RunPaths, tmp_path: Path) -> None:
    with Browser() as browser:
        for paths in (write_run(sound, tmp_path), ball_run):
            browser.open(paths.report, width=390, height=844, phone=True)
            assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        browser.evaluate("document.readyState")
        assert browser.complaints == []
        assert {url.split(":", 1)[0] for url in browser.requests} <= {"file", "data"}
