from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape import voxels
from staf.kinds.shape.voxels import PackedVolume
from staf.signals import SignalError


@pytest.fixture(params=[(3, 5, 7), (8, 8, 8), (1, 1, 1), (13, 4, 3)])
def array(request):
    return np.random.default_rng(0).random(request.param) > 0.5


def test_bits_come_back(array):
    volume = PackedVolume.pack(array)
    assert volume.bits.nbytes == -(-array.size // 8)
    assert np.array_equal(volume.array(), array)
    assert volume.count() == array.sum()
    index = np.arange(array.size)[::-1]
    assert np.array_equal(volume.at(index), array.ravel()[::-1])
    for start in range(array.shape[0]):
        assert np.array_equal(volume.slab(start, array.shape[0]), array[start:])


def test_slabs_of_any_thickness_pack_alike(array):
    for thickness in (1, 2, 5):
        slabs = (array[i : i + thickness] for i in range(0, len(array), thickness))
        assert np.array_equal(PackedVolume.from_slabs(array.shape, slabs).bits, PackedVolume.pack(array).bits)


def test_cropping_keeps_the_inside():
    array = np.zeros((9, 10, 11), bool)
    array[2, 3, 4] = array[5, 6, 10] = True
    box, offset = PackedVolume.pack(array).cropped()
    assert (box.shape, offset) == ((4, 4, 7), (2, 3, 4))
    assert np.array_equal(box.array(), array[2:6, 3:7, 4:11])
    with pytest.raises(SignalError, match="no voxel"):
        PackedVolume.pack(np.zeros((2, 2, 2), bool)).cropped()


def test_pooling_takes_means(array):
    assert np.array_equal(PackedVolume.pack(array).pooled(128), array.astype(np.float32))
    block = np.random.default_rng(1).random((8, 4, 6)) > 0.3
    expected = block.reshape(4, 2, 2, 2, 3, 2).mean((1, 3, 5))
    assert PackedVolume.pack(block).pooled(4) == pytest.approx(expected)


@pytest.mark.parametrize("band", [1, 2])
def test_near_surface_is_where_a_window_sees_both(band, monkeypatch):
    monkeypatch.setattr(voxels, "SLAB_VOXELS", 300)
    array = np.zeros((17, 12, 14), bool)
    array[4:12, 0:7, 5:9] = True
    padded = np.pad(array, band)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2 * band + 1,) * 3)
    expected = np.flatnonzero((windows.any((3, 4, 5)) & ~windows.all((3, 4, 5))).ravel())
    assert np.array_equal(PackedVolume.pack(array).near_surface(band), expected)


def test_wrong_sizes_are_refused():
    with pytest.raises(SignalError, match="need 1 bytes"):
        PackedVolume((2, 2, 2), np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match="band must be at least 1"):
        PackedVolume.pack(np.ones((2, 2, 2), bool)).near_surface(0)
