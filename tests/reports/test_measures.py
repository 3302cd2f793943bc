from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import staf
from staf.kinds.image.view import float_prediction
from staf.metrics import lpips
from staf.metrics.lpips import LPIPS, SHAPES
from staf.reports.measures import measures
from tests.reports.conftest import small_fit, small_image


def test_the_files_own_psnr_is_that_of_its_rounded_pixels(fit: staf.Fit, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    fit.reconstruction.save(path)
    found = measures(fit, path)
    error = staf.open(path).array.astype(float) / 255 - fit.signal.array.astype(float) / 255
    assert found["psnr_of_file"] == pytest.approx(-10 * np.log10((error**2).mean()), abs=1e-4)
    assert found["psnr_of_file"] != found["psnr"]
    assert found["psnr"] == fit.metrics["psnr"]


def test_the_measure_is_of_the_file_and_not_of_the_fit(fit: staf.Fit, tmp_path: Path) -> None:
    fit.signal.save(tmp_path / "other.png")
    found = measures(fit, tmp_path / "other.png")
    assert found["psnr_of_file"] is None
    assert found["notes"]["psnr_of_file"] == "infinite: equal to the target"


def test_another_size_is_not_measured(fit: staf.Fit, tmp_path: Path) -> None:
    small_image(9, 9).save(tmp_path / "other.png")
    assert "another size" in measures(fit, tmp_path / "other.png")["notes"]["psnr_of_file"]


def test_lpips_is_measured_where_its_weights_are(
    fit: staf.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import save_file

    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(tmp_path / "none.safetensors"))
    assert measures(fit, None)["lpips"] is None
    assert "no LPIPS weights" in measures(fit, None)["notes"]["lpips"]
    generator = torch.Generator().manual_seed(0)
    weights = {name: torch.rand(shape, generator=generator) * 0.02 for name, shape in SHAPES.items()}
    save_file(weights, tmp_path / "weights.safetensors")
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(tmp_path / "weights.safetensors"))
    prediction, target = float_prediction(fit.signal, fit.field.predict), fit.signal.values().reshape(40, 56, 3)
    expected = lpips(prediction, target, data_range=1.0, model=LPIPS(weights))
    assert measures(fit, None)["lpips"] == pytest.approx(float(expected))


def test_no_pass_over_the_points_is_made_for_lpips_without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", "/there/is/no/such/file")
    fit = small_fit(small_image(32, 32))
    monkeypatch.setattr(type(fit.field), "predict", lambda *_, **__: pytest.fail("the field was evaluated"))
    assert "no LPIPS weights" in measures(fit, None)["notes"]["lpips"]


def test_lpips_has_words_for_alpha() -> None:
    fit = small_fit(staf.Image(np.zeros((9, 9, 4), np.uint8)), steps=1)
    assert "has alpha" in measures(fit, None)["notes"]["lpips"]


def test_a_fit_is_seen_beside_what_needs_no_network(fit: staf.Fit) -> None:
    found = measures(fit, None)
    pixels = fit.signal.array.astype(float) / 255
    mean = pixels.reshape(-1, pixels.shape[-1]).mean(0)
    assert found["psnr_of_baseline"] == pytest.approx(-10 * np.log10(((pixels - mean) ** 2).mean()), abs=1e-4)
    assert found["baseline"] == "the mean colour"
    wave = np.array([[0.5], [-0.25]], np.float32)
    assert staf.Audio(wave, rate=8000).view.baseline() == ("silence", pytest.approx(-10 * np.log10(0.625)))
