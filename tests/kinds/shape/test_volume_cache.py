from __future__ import annotations

import numpy as np
import pytest

from staf.kinds import Shape
from staf.kinds.shape import volume_cache
from tests.kinds.solids import box, torus


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "staf" / "volumes"


def test_the_second_time_is_read_from_the_folder(folder, monkeypatch):
    first = Shape(torus(), resolution=20)
    assert first.volume.count() > 0
    assert len(list(folder.iterdir())) == 1

    def never(self):
        raise AssertionError("computed again")

    monkeypatch.setattr(Shape, "_voxelised", never)
    again = Shape(torus(), resolution=20, name="another name")
    assert np.array_equal(again.volume.bits, first.volume.bits)
    assert again.frame == first.frame
    with pytest.raises(AssertionError, match="computed again"):
        _ = Shape(torus(), resolution=21).volume
    with pytest.raises(AssertionError, match="computed again"):
        _ = Shape(box(), resolution=20).volume


@pytest.mark.parametrize("damage", [lambda data: data[:50], lambda data: b"", lambda data: data[:-200] + bytes(200)])
def test_a_damaged_file_is_made_again(folder, damage):
    before = Shape(torus(), resolution=20).volume.bits
    path = next(folder.iterdir())
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert np.array_equal(Shape(torus(), resolution=20).volume.bits, before)
    assert np.load(path)["bits"].tolist() == before.tolist()


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert Shape(torus(), resolution=20).volume.count() > 0


def test_keys_follow_content_resolution_and_rule():
    keys = {
        volume_cache.key_of(mesh, resolution, rule)
        for mesh in (box(), torus())
        for resolution in (8, 9)
        for rule in ("winding", "open")
    }
    assert len(keys) == 8
