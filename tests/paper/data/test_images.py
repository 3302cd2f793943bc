from __future__ import annotations

import numpy as np
import pytest

from paper.data.images import image_data, named_paths
from staf.comparison.result_file import array_hash
from staf.kinds import Image


def test_an_image_has_one_hash_in_every_format(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 3), np.uint8)
    np.save(tmp_path / "a.npy", pixels)
    Image(pixels).save(tmp_path / "b.png")
    assert image_data(str(tmp_path / "a.npy")).sha256 == image_data(str(tmp_path / "b.png")).sha256
    assert image_data(str(tmp_path / "a.npy")).name == "a"


def test_hashes_tell_type_and_order_apart():
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert array_hash(array) == array_hash(np.asfortranarray(array))
    assert array_hash(array) != array_hash(array.astype(np.uint16))
    big = array.astype(">u2")
    assert array_hash(big) == array_hash(big.astype("<u2"))


def test_folders_stand_for_their_images(tmp_path):
    for name in ("b.npy", "a.png", "notes.txt"):
        (tmp_path / name).touch()
    assert list(named_paths([tmp_path])) == ["a", "b"]
    (tmp_path / "a.npy").touch()
    with pytest.raises(ValueError, match="differ in name"):
        named_paths([tmp_path])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="holds no images"):
        named_paths([empty])
