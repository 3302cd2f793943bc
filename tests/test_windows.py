from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Audio
from staf.planning import Plan, recipes
from staf.signals import SignalError
from staf.windows import fit_windows, load_windows


def recording(channels: int = 1, rate: int = 1000, seconds: float = 1.2) -> Audio:
    time = np.arange(round(rate * seconds)) / rate
    wave = np.stack([np.sin(2 * np.pi * 12 * time + k) * (1 + time) / 3 for k in range(channels)], 1)
    return Audio(wave.astype(np.float32), rate, name="long")


def small(channels: int = 1) -> Plan:
    def factory(generator: torch.Generator):
        return staf.siren(1, channels, width=24, depth=2, omega0=20.0, generator=generator)

    return Plan(factory, recipes.default(steps=120))


@pytest.fixture(scope="module")
def fit():
    return fit_windows(recording(), seconds=0.35, overlap=0.03, plan=small(), progress=False)


def test_windows_are_fitted_and_joined(fit):
    assert len(fit.field.windows) == 4
    assert fit.reconstruction.samples == 1200
    assert fit.metrics["psnr"] > 30
    error = (fit.reconstruction.array - fit.signal.array) / fit.signal.peak
    assert fit.metrics["psnr"] == pytest.approx(-10 * np.log10((error.astype(np.float64) ** 2).mean()), abs=1e-3)
    assert len(fit.window_metrics) == 4


def test_no_click_where_windows_meet(fit):
    jump = np.abs(np.diff(fit.reconstruction.array[:, 0]))
    natural = np.abs(np.diff(fit.signal.array[:, 0])).max()
    assert jump.max() < 1.5 * natural


def test_another_rate_is_the_same_recording(fit):
    double = fit.render(rate=2000)
    assert (double.rate, double.samples) == (2000, 2400)
    middle = double.array.reshape(1200, 2).mean(1)
    assert np.abs(middle - fit.reconstruction.array[:, 0]).max() < 0.02


def test_saved_and_loaded(fit, tmp_path):
    fit.save(tmp_path / "long")
    again = load_windows(tmp_path / "long")
    np.testing.assert_allclose(again.render().array, fit.reconstruction.array, atol=1e-6)
    (tmp_path / "long" / "windows.json").write_text("{}")
    with pytest.raises(staf.FileError, match="does not describe the windows"):
        load_windows(tmp_path / "long")
    with pytest.raises(staf.FileError, match="cannot open"):
        load_windows(tmp_path / "nowhere")


def test_streamed_to_a_folder_and_resumed(tmp_path):
    run = tmp_path / "run"
    arguments = {"seconds": 0.7, "overlap": 0.03, "plan": small(2), "steps": 3, "progress": False, "out": run}
    first = fit_windows(recording(2), **arguments)
    assert first.reconstruction.out_features == 2
    (tmp_path / "run" / "fields" / "00001.safetensors").unlink()
    again = fit_windows(recording(2), **arguments, resume=True)
    for same in (again.reconstruction, load_windows(tmp_path / "run").render()):
        np.testing.assert_allclose(same.array, first.reconstruction.array, atol=1e-6)


def test_silent_stretches_are_fitted_too():
    audio = recording()
    quiet = Audio(np.concatenate([np.zeros((600, 1), np.float32), audio.array]), audio.rate)
    fit = fit_windows(quiet, seconds=0.35, overlap=0.03, plan=small(), steps=60, progress=False)
    assert np.abs(fit.reconstruction.array[:250]).max() < 0.05


def test_a_short_recording_is_one_window():
    fit = fit_windows(recording(seconds=0.2), plan=small(), steps=2, progress=False)
    assert fit.field.windows == [(0, 200)]


def test_mistakes_are_named():
    with pytest.raises(SignalError, match="only audio is fitted in windows"):
        fit_windows(np.zeros((4, 4), np.uint8))
    for wrong in ({"seconds": float("nan")}, {"overlap": 0.0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a positive number, got"):
            fit_windows(Audio(np.zeros(100), 100), **wrong)
    with pytest.raises(SignalError, match="overlap must be"):
        fit_windows(recording(), seconds=0.1, overlap=0.2)
    ends = Plan(small().field_factory, recipes.paper_audio())
    with pytest.raises(ValueError, match="need the convention 'centres'"):
        fit_windows(recording(), plan=ends)


@pytest.mark.parametrize(
    "windows",
    [
        [],
        "all",
        [[0, 1200, 5]],
        [[0, 1200.0]],
        [[0, 1199]],
        [[1, 1200]],
        [[0, 10**12]],
        [[0, 400], [400, 1200]],
        [[0, 400], [300, 350], [340, 1200]],
        [[300, 1200], [0, 400]],
        [[0, 700], [-5, 1200]],
    ],
)
def test_spans_that_make_up_no_recording_are_refused(fit, tmp_path, windows):
    fit.save(tmp_path / "long")
    path = tmp_path / "long" / "windows.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "windows": windows}))
    with pytest.raises(staf.FileError, match="does not describe the windows"):
        load_windows(tmp_path / "long")


def test_a_recording_of_another_size_or_other_fields_is_refused(fit, tmp_path):
    fit.save(tmp_path / "long")
    path = tmp_path / "long" / "windows.json"
    document = json.loads(path.read_text())
    for change in ({"shape": [10**12]}, {"rate": 10**12}, {"peak": 1e300}):
        path.write_text(json.dumps({**document, "signal": {**document["signal"], **change}}))
        with pytest.raises(staf.FileError, match="does not describe the windows"):
            load_windows(tmp_path / "long")
    path.write_text(json.dumps({**document, "signal": {**document["signal"], "channels": 2}}))
    with pytest.raises(staf.FileError, match="is not the field of a window of this recording"):
        load_windows(tmp_path / "long")
