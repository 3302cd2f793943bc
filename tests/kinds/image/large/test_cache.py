"""Decoded images in the cache: one decoding, whole or not at all, bounded in size."""

from __future__ import annotations

import os

import numpy as np
import PIL.Image
import pytest
import tifffile

from staf.kinds.image.large import cache
from staf.kinds.image.large.cache import cache_folder, key_of, mapped_image
from staf.signals.errors import SignalError

LIMIT = 10**6


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pixels(seed=0, shape=(40, 50, 3)):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_a_file_is_decoded_once_and_mapped(tmp_path, monkeypatch):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels(), photometric="rgb", rowsperstrip=7)
    first = mapped_image(path, "TIFF", LIMIT)
    assert np.array_equal(first.pixels, pixels())
    assert isinstance(first.pixels, np.memmap)
    assert not first.pixels.flags.writeable
    monkeypatch.setattr(cache, "_decode", lambda *_: pytest.fail("decoded again"))
    renamed = path.rename(tmp_path / "b.tif")
    assert np.array_equal(mapped_image(renamed, "TIFF", LIMIT).pixels, pixels())
    assert [entry.name for entry in cache_folder().iterdir()] == [key_of(renamed)]


def test_the_key_is_the_content(tmp_path):
    for seed in (0, 1):
        PIL.Image.fromarray(pixels(seed)).save(tmp_path / "a.png")
        assert np.array_equal(mapped_image(tmp_path / "a.png", "PNG", LIMIT).pixels, pixels(seed))
    assert len(list(cache_folder().iterdir())) == 2


def test_profile_and_notes_come_back_from_the_cache(tmp_path):
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        writer.write(pixels(), photometric="rgb", iccprofile=profile)
        writer.write(pixels(1), photometric="rgb")
    for _ in range(2):
        found = mapped_image(path, "TIFF", LIMIT)
        assert found.profile == profile
        assert found.notes[0] == "the first of 2 pages is used"
        assert len(found.notes) == 2


def test_what_is_not_decoded_in_bands_is_none(tmp_path):
    PIL.Image.fromarray(pixels()).convert("P").save(tmp_path / "a.png")
    assert mapped_image(tmp_path / "a.png", "PNG", LIMIT) is None
    assert mapped_image(tmp_path / "a.png", "WebP", LIMIT) is None


@pytest.mark.parametrize("damage", ["cut", "gone", "json", "header"])
def test_a_damaged_entry_is_decoded_again(tmp_path, damage):
    path = tmp_path / "a.jpg"
    PIL.Image.fromarray(pixels()).save(path)
    expected = np.array(mapped_image(path, "JPEG", LIMIT).pixels)
    (entry,) = cache_folder().iterdir()
    if damage == "cut":
        os.truncate(entry / "pixels.npy", 1000)
    elif damage == "gone":
        (entry / "pixels.npy").unlink()
    elif damage == "json":
        (entry / "image.json").write_text("{")
    else:
        np.save(entry / "pixels.npy", np.zeros((2, 2, 3), np.uint8))
    assert np.array_equal(mapped_image(path, "JPEG", LIMIT).pixels, expected)


def test_a_cut_file_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.png"
    PIL.Image.fromarray(pixels()).save(path)
    path.write_bytes(path.read_bytes()[:4000])
    with pytest.raises(SignalError, match="damaged"):
        mapped_image(path, "PNG", LIMIT)
    assert not cache_folder().exists() or list(cache_folder().iterdir()) == []


def test_the_longest_unused_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MOST_BYTES", 2 * pixels().nbytes + 3000)
    paths = []
    for seed in range(4):
        paths.append(tmp_path / f"{seed}.tif")
        tifffile.imwrite(paths[-1], pixels(seed), photometric="rgb")
        mapped_image(paths[-1], "TIFF", LIMIT)
        os.utime(cache_folder() / key_of(paths[-1]), (seed, seed))
    kept = {entry.name for entry in cache_folder().iterdir()}
    assert kept == {key_of(path) for path in paths[1:]}


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels(), photometric="rgb")
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(SignalError, match="set XDG_CACHE_HOME to another disk"):
        mapped_image(path, "TIFF", LIMIT)
