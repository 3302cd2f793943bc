"""Pictures of reconstructions: what is drawn is what the result files hold."""

from __future__ import annotations

import numpy as np
import pytest

from paper.experiments.activation_maps import figure as maps_figure
from paper.experiments.tokyo import patches, whole
from paper.report.pictures import dots, reconstructions
from paper.runner import RunResult


def fit(folder, protocol, name, level, psnr):
    """A fit in which every level is `level`, of a truth of 20x60 that is black but for a white pixel."""
    pixels, truth = np.full((20, 60, 3), level, np.uint8), np.zeros((20, 60, 3), np.uint8)
    truth[12, 50] = 255
    stem = f"{protocol}-{name}"
    np.savez(folder / f"{stem}.npz", restored=pixels, truth=truth, maps_0=np.zeros((2, 5, 5), np.uint8))
    document = {
        "configuration": {"protocol": protocol, "row": {"name": name, "arguments": {}}}, "metrics": {"psnr": psnr},
        "arrays": [f"{stem}.npz"], "data": {"name": "photo"}, "details": {},
    }  # fmt: skip
    return RunResult(folder / f"{stem}.json", document)


@pytest.fixture
def two_fits(tmp_path):
    return [fit(tmp_path, "ours", "siren", 50, 14.2), fit(tmp_path, "ours", "staf", 10, 28.1)]


def shown(axes):
    return [np.asarray(image.get_array()) for image in axes.get_images()]


def test_a_picture_stands_above_a_part_of_it(two_fits):
    axes = reconstructions(two_fits).axes
    assert [one.get_title() for one in axes[:3]] == ["truth", "staf\n28.10 dB", "siren\n14.20 dB"]
    assert [shown(one)[0].shape[:2] for one in axes] == [(20, 60)] * 3 + [(15, 15)] * 3
    assert shown(axes[3])[0].max() == 255, "the part is where the truth changes"
    assert [len(one.patches) for one in axes] == [2, 0, 0, 0, 0, 0], "and the truth says where that is"


def test_every_protocol_has_its_own_part(two_fits, tmp_path):
    figure = reconstructions([*two_fits, fit(tmp_path, "released", "staf", 30, 18.6)])
    assert [part.get_suptitle() for part in figure.subfigs] == ["released recipe", "our default"]
    released, ours = ([one.get_title() for one in part.axes if one.get_visible()] for part in figure.subfigs)
    assert released == ["truth", "staf\n18.60 dB", "", ""]
    assert ours[:3] == ["truth", "staf\n28.10 dB", "siren\n14.20 dB"]


def test_activation_maps_of_every_protocol(two_fits, tmp_path):
    figure = maps_figure([*two_fits, fit(tmp_path, "released", "staf", 30, 18.6)])
    assert [part.get_suptitle() for part in figure.subfigs] == ["released recipe", "our default"]
    assert [len(part.axes) for part in figure.subfigs] == [3, 6]
    assert [one.get_title() for one in figure.subfigs[0].axes] == ["layer 1", "layer 1", "18.6 dB"]
    assert [one.get_ylabel() for one in figure.subfigs[1].axes[::3]] == ["siren", "staf"]


def test_errors_have_a_row_of_their_own_and_one_scale(two_fits):
    axes = reconstructions(two_fits, errors=True).axes
    maps = [one.get_images()[0] for one in axes[4:6]]
    assert [float(one.get_array()[0, 0]) for one in maps] == [10.0, 50.0]
    assert {one.get_clim() for one in maps} == {(0.0, 50.0)}
    assert not axes[3].get_visible(), "the truth has no error"


def test_the_panorama_has_the_error_maps_of_the_papers_figure(two_fits):
    assert len([one for one in whole(two_fits).axes if one.get_label() == "<colorbar>"]) == 1
    assert not [one for one in reconstructions(two_fits).axes if one.get_label() == "<colorbar>"]


@pytest.mark.parametrize("size", [16, 200])
def test_the_patches_of_a_small_picture_are_of_different_places(size, tmp_path):
    rng = np.random.default_rng(0)
    truth, restored = (rng.integers(0, 255, (size, size, 3), np.uint8) for _ in range(2))
    np.savez(tmp_path / "one.npz", truth=truth, restored=restored)
    document = {"configuration": {"protocol": "ours", "row": {"name": "staf"}}, "arrays": ["one.npz"]}
    frames = patches([RunResult(tmp_path / "one.json", document)]).axes[0].lines
    assert len({tuple(frame.get_xydata()[0]) for frame in frames}) == 3


def test_the_papers_means_are_diamonds_beside_our_dots(tmp_path):
    document = {
        "configuration": {"protocol": "ours", "row": {"name": "staf"}}, "details": {"images": {"a": {"psnr": 20.0}}},
    }  # fmt: skip
    results = [RunResult(tmp_path / "one.json", document)]
    (axes,) = dots(results, published={"staf": {"psnr": 40.88}, "finer": {"psnr": 1.0}}).axes
    ours, theirs = (np.asarray(points.get_offsets()) for points in axes.collections)
    assert (ours.tolist(), theirs.tolist()) == ([[20.0, 0.0]], [[40.88, 0.0]])
    assert axes.get_xlabel().endswith("diamond: paper")
    (plain,) = dots(results).axes
    assert plain.get_xlabel().endswith("line: mean")
