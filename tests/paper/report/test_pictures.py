"""Pictures of reconstructions: what is drawn is what the result files hold."""

from __future__ import annotations

import numpy as np
import pytest

from paper.experiments.tokyo import whole
from paper.report.pictures import reconstructions
from paper.runner import RunResult


@pytest.fixture
def two_fits(tmp_path):
    """A black truth of 20x60, and a fit of every level 10 and one of 50."""
    results = []
    for name, level, psnr in (("staf", 10, 28.1), ("siren", 50, 14.2)):
        pixels = np.full((20, 60, 3), level, np.uint8)
        np.savez(tmp_path / f"{name}.npz", restored=pixels, truth=np.zeros_like(pixels))
        document = {
            "configuration": {"protocol": "ours", "row": {"name": name, "arguments": {}}},
            "metrics": {"psnr": psnr}, "arrays": [f"{name}.npz"], "data": {"name": "photo"}, "details": {},
        }  # fmt: skip
        results.append(RunResult(tmp_path / f"{name}.json", document))
    return results


def shown(axes):
    return [np.asarray(image.get_array()) for image in axes.get_images()]


def test_a_picture_stands_above_a_part_of_it(two_fits):
    axes = reconstructions(two_fits).axes
    assert [one.get_title() for one in axes[:3]] == ["truth", "staf\n28.10 dB", "siren\n14.20 dB"]
    assert [shown(one)[0].shape[:2] for one in axes] == [(20, 60)] * 3 + [(6, 18)] * 3


def test_errors_have_a_row_of_their_own_and_one_scale(two_fits):
    axes = reconstructions(two_fits, errors=True).axes
    maps = [one.get_images()[0] for one in axes[4:6]]
    assert [float(np.unique(one.get_array()).item()) for one in maps] == [10.0, 50.0]
    assert {one.get_clim() for one in maps} == {(0.0, 50.0)}
    assert not axes[3].get_visible(), "the truth has no error"


def test_the_panorama_has_the_error_maps_of_the_papers_figure(two_fits):
    assert len([one for one in whole(two_fits).axes if one.get_label() == "<colorbar>"]) == 1
    assert not [one for one in reconstructions(two_fits).axes if one.get_label() == "<colorbar>"]
