from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from staf.comparison import NetworkRow, compare_networks, comparison_figure, network_table
from staf.comparison.networks import fit_or_resume
from staf.comparison.result_file import array_hash, read_result, thin
from staf.kinds import Image
from staf.metrics.lpips import SHAPES
from staf.planning import Budget
from tests.kinds.scene.small import scene


@pytest.fixture
def image():
    y, x = np.mgrid[0:12, 0:10] / 12
    return Image((np.stack([x, y, x * y], -1) * 65535).astype(np.uint16), name="colour")


def compare(image, folder, models=("siren", "gauss"), **options):
    return compare_networks(image, models, Budget(steps=4), folder, device="cpu", progress=False, **options)


def test_results_hold_what_a_figure_needs(image, tmp_path):
    results = compare(image, tmp_path).results
    assert [result.model for result in results] == ["siren", "gauss"]
    for result in results:
        array = result.reconstruction()
        assert (array.shape, array.dtype) == (image.array.shape, image.array.dtype)
        difference = (array.astype(float) - image.array) / 65535
        # Rounding to the image's own depth moves the measure of the float prediction only a little.
        assert -10 * np.log10(np.square(difference).mean()) == pytest.approx(result.metrics["psnr"], abs=0.1)
        assert result.steps == len(result.history["loss"]) == 4
        assert result.parameters > 190_000
        assert result.field_path.exists()
    assert len(comparison_figure(image, results).subfigs) == 2
    assert {row[0] for row in network_table(results).rows} == {"siren", "gauss"}


def test_shapes_are_ranked_by_what_they_are_measured_by_first():
    metrics = {"siren": {"iou": 0.99, "psnr": 20.0}, "staf": {"iou": 0.98, "psnr": 21.0}}
    rows = [NetworkRow("ball", model, own, 9, 20, 1.0) for model, own in metrics.items()]
    table = network_table(rows, "iou")
    assert table.columns[:3] == ["model", "IoU", "PSNR (dB)"]
    assert [row[:3] for row in table.rows] == [["siren", "0.9900", "20.00"], ["staf", "0.9800", "21.00"]]
    assert [row[:3] for row in network_table(rows).rows] == [["staf", "21.00", "0.9800"], ["siren", "20.00", "0.9900"]]


@pytest.fixture
def lpips_weights(tmp_path, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    weights = {name: torch.rand(shape, generator=generator) * 0.02 for name, shape in SHAPES.items()}
    save_file(weights, tmp_path / "weights.safetensors")
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(tmp_path / "weights.safetensors"))


def test_lpips_is_a_column_where_its_weights_are(lpips_weights, tmp_path, monkeypatch):
    photo = Image(np.random.default_rng(0).integers(0, 255, (40, 36, 3), np.uint8), name="photo")
    (found,) = compare(photo, tmp_path / "with", ["siren"]).results
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(tmp_path / "none.safetensors"))
    (without,) = compare(photo, tmp_path / "without", ["siren"]).results
    assert "lpips" not in without.metrics
    assert "LPIPS" not in network_table([without]).columns
    table = network_table([found, without])
    assert float(table.rows[0][table.columns.index("LPIPS")]) == pytest.approx(found.metrics["lpips"], abs=1e-4)
    assert found.metrics["lpips"] > 0


def test_lpips_of_a_scene_is_measured_where_its_weights_are(lpips_weights, tmp_path):
    (found,) = compare(scene(train=2, test=1, size=32), tmp_path, ["pemlp"]).results
    assert found.metrics["lpips"] > 0


def test_finished_networks_are_not_fitted_again(image, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in compare_paths(image, tmp_path)}
    assert {path: path.stat().st_mtime_ns for path in compare_paths(image, tmp_path)} == before
    assert len(compare(image, tmp_path, seed=1).results) == 2
    assert len(list(tmp_path.glob("*.json"))) == 4


def compare_paths(image, folder):
    return [result.path for result in compare(image, folder).results]


def test_a_result_records_what_it_came_from(image, tmp_path):
    (result,) = compare(image, tmp_path, ["siren"], seed=3).results
    document = json.loads(result.path.read_text())
    assert (document["model"], document["image"], document["seed"]) == ("siren", "colour", 3)
    assert document["sha256"] == array_hash(image.array)
    assert document["budget"]["steps"] == 4
    assert document["machine"]["cores"] >= 1
    assert {"torch", "staf"} <= set(document["versions"])
    assert "final weights" in document["protocol"]
    result.path.write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(ValueError, match="format 99"):
        read_result(result.path)


def test_an_unusable_checkpoint_is_discarded(image, tmp_path):
    checkpoint = tmp_path / "c.safetensors"
    checkpoint.write_bytes(b"not a checkpoint")
    fit = fit_or_resume(image, checkpoint, steps=2, device="cpu", progress=False)
    assert fit.result.steps == 2


def test_thin_keeps_both_ends():
    thinned = thin({"step": list(range(1000)), "loss": [float(i) for i in range(1000)]}, rows=7)
    assert len(thinned["step"]) == 7
    assert (thinned["step"][0], thinned["step"][-1]) == (0, 999)
    assert thinned["loss"] == [float(i) for i in thinned["step"]]
