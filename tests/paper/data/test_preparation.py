from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.data.preparation import Preparation, area_means, prepared
from paper.data.sources import image_sources, open_source


@pytest.mark.parametrize(("side", "size"), [(12, 4), (10, 4), (17, 12), (7, 7)])
def test_area_means_are_those_of_a_fine_grid(side, size):
    array = np.random.default_rng(0).random((side, side + 3, 2))
    fine = np.repeat(np.repeat(array, size, 0), size + 1, 1)
    rows = fine.reshape(size, side, -1, 2).mean(1)
    expected = rows.reshape(size, size + 1, side + 3, 2).mean(2)
    assert area_means(array, (size, size + 1)) == pytest.approx(expected, abs=1e-12)


def test_whole_numbers_are_rounded():
    assert area_means(np.array([[0, 1], [1, 1]], np.uint8), (1, 1)).tolist() == [[1]]


def test_the_papers_sizes():
    kodak = Preparation(crop=(512, 512), size=(256, 256))
    assert kodak(np.zeros((768, 512, 3), np.uint8)).shape == (256, 256, 3)
    ready = np.zeros((256, 256, 3), np.uint8)
    assert kodak(ready) is ready
    small = np.zeros((16, 16, 3), np.uint8)
    assert kodak(small) is small
    assert Preparation(crop=(178, 178), size=(128, 128))(np.zeros((218, 178, 3), np.uint8)).shape == (128, 128, 3)
    assert Preparation(divide=4, grey=True)(np.zeros((1356, 2040, 3), np.uint8)).shape == (339, 510, 1)


def test_only_images_that_change_are_written(tmp_path):
    rng = np.random.default_rng(0)
    for name, side in (("large", 8), ("ready", 4)):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 256, (side, side, 3), np.uint8))
    sources = image_sources([tmp_path])
    found = prepared(sources, Preparation(size=(4, 4)), tmp_path / "data")
    assert list(found) == ["large", "ready"]
    assert found["ready"] == sources["ready"]
    assert Path(found["large"].path).parent == tmp_path / "data"
    before = open_source(sources["large"], "large").array.astype(float)
    assert open_source(found["large"], "large").array == pytest.approx(
        before.reshape(4, 2, 4, 2, 3).mean((1, 3)), abs=0.5001
    )
    assert prepared(sources, Preparation(), tmp_path) == sources
