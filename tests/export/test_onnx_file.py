"""ONNX files have the values of the field, in onnxruntime."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from staf.api import FittedField
from staf.export.describe import describe
from staf.export.evaluate import evaluate
from staf.export.onnx_file import export_onnx
from tests.export.fields import audio_field, image_field
from tests.export.networks import NETWORKS, SCENE_NETWORKS, make, make_radiance, points

onnxruntime = pytest.importorskip("onnxruntime")


def session(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def run(path: Path, coordinates: torch.Tensor) -> np.ndarray:
    (values,) = session(path).run(["values"], {"coordinates": coordinates.numpy()})
    return values


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network(name: str, inputs: int, tmp_path: Path):
    field = FittedField(make(name, inputs), {})
    path, x = export_onnx(field, tmp_path / "field.onnx"), points(500, inputs)
    expected = field(x).detach().numpy()
    # Two float32 evaluations agree as well as each of them agrees with float64.
    rounding = np.abs(evaluate(describe(field.module), x.double().numpy()) - expected).max()
    assert np.abs(run(path, x) - expected).max() < 1e-5 + 2 * rounding


@pytest.mark.parametrize("name", SCENE_NETWORKS)
def test_every_network_of_scenes(name: str, tmp_path: Path):
    field, x = FittedField(make_radiance(name), {}), points(100, 6)
    got, expected = run(export_onnx(field, tmp_path / "field.onnx"), x), field(x).detach().numpy()
    # Densities are exponentials: their relative error counts.
    assert np.abs(got / expected - 1).max() < 1e-4


@pytest.mark.parametrize("count", [1, 2, 77])
def test_any_number_of_points(count: int, tmp_path: Path):
    field, x = image_field(), points(count)
    assert np.allclose(run(export_onnx(field, tmp_path / "f.onnx"), x), field(x).detach().numpy(), atol=1e-5)


def test_values_are_in_the_units_of_the_signal(tmp_path: Path):
    field, x = audio_field(channels=2), points(50, 1)
    assert field.signal.peak == 0.5
    assert np.allclose(run(export_onnx(field, tmp_path / "f.onnx"), x), field(x).detach().numpy(), atol=1e-5)


def test_the_metadata_says_what_is_meant(tmp_path: Path):
    path = export_onnx(audio_field(), tmp_path / "f.onnx")
    meta = session(path).get_modelmeta()
    said = json.loads(meta.custom_metadata_map["staf"])
    assert said["convention"] == "centres"
    assert (said["value_offset"], said["value_scale"], said["value_range"]) == (0.0, 0.5, [-0.5, 0.5])
    assert said["signal"]["rate"] == 8000
    assert "notes" not in said["signal"]
    assert "sample i of n lies at (2 i + 1) / n - 1" in meta.description


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'staf\[export\]'"):
        export_onnx(image_field(), tmp_path / "f.onnx")
    assert not (tmp_path / "f.onnx").exists()
