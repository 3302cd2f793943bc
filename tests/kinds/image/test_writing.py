from __future__ import annotations

import os
import subprocess

import numpy as np
import PIL.Image
import pytest
import tifffile

import staf.kinds
from staf.kinds import Image
from staf.kinds.image.writing import write_bands
from staf.signals import SignalError
from tests.kinds.pictures import DTYPES, pixels, squeezed, srgb_profile

KEEPS = [(suffix, dtype) for suffix in (".png", ".tif", ".tiff", ".npy") for dtype in DTYPES] + [(".webp", np.uint8)]


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize(("suffix", "dtype"), KEEPS)
def test_lossless_formats_round_trip(tmp_path, suffix, channels, dtype):
    image = Image(pixels(channels=channels, dtype=dtype))
    back = staf.kinds.open(image.save(tmp_path / f"a{suffix}"))
    if suffix == ".webp" and channels < 3:
        assert back.out_features == channels + 2
        assert np.array_equal(back.array[..., [0, -1]], image.array[..., [0, -1]])
        return
    if suffix == ".png" and dtype is np.float32:
        assert back.dtype == np.uint16
        assert np.array_equal(back.array, np.rint(image.array * np.float32(65535)))
        return
    assert back.dtype == image.dtype
    assert np.array_equal(back.array, image.array)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_other_readers_agree_on_tiff(tmp_path, channels, dtype):
    array = pixels(channels=channels, dtype=dtype)
    path = Image(array, profile=srgb_profile()).save(tmp_path / "a.tif")
    assert np.array_equal(tifffile.imread(path), squeezed(array))
    if dtype is np.uint8:
        picture = PIL.Image.open(path)
        assert np.array_equal(np.asarray(picture), squeezed(array))
        assert picture.info["icc_profile"] == srgb_profile()


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_close_and_keeps_the_profile(tmp_path, channels):
    y, x = np.mgrid[0:64, 0:64]
    smooth = np.repeat((np.sin(x / 9) * np.cos(y / 7) * 100 + 128).astype(np.uint8)[..., None], channels, axis=2)
    profile = srgb_profile() if channels == 3 else None
    path = Image(smooth, profile=profile).save(tmp_path / "a.jpg")
    back = staf.kinds.open(path)
    assert back.out_features == channels
    assert back.profile == profile
    assert np.abs(back.array.astype(int) - smooth).max() <= 3


def test_sixteen_bits_become_eight_in_jpeg(tmp_path):
    path = Image(np.full((16, 16, 3), 40000, np.uint16)).save(tmp_path / "a.jpg")
    assert np.abs(staf.kinds.open(path).array.astype(int) - 156).max() <= 1


def test_webp_keeps_colours_under_full_transparency(tmp_path):
    array = pixels(channels=4)
    array[..., 3] = 0
    back = staf.kinds.open(Image(array, profile=srgb_profile()).save(tmp_path / "a.webp"))
    assert np.array_equal(back.array, array)
    assert back.profile == srgb_profile()


@pytest.mark.parametrize("channels", [2, 4])
def test_jpeg_refuses_alpha(tmp_path, channels):
    with pytest.raises(SignalError, match="JPEG holds no alpha"):
        Image(pixels(channels=channels)).save(tmp_path / "a.jpg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_values_beyond_one_are_saved_as_tiff_or_npy_only(tmp_path, suffix):
    bright = Image(pixels(dtype=np.float32) * 4)
    with pytest.raises(SignalError, match=r"holds values in \[0, 1\].*TIFF or NPY"):
        bright.save(tmp_path / f"a{suffix}")
    assert np.array_equal(staf.kinds.open(bright.save(tmp_path / "a.tif")).array, bright.array)


def test_sides_that_a_format_cannot_hold_are_refused(tmp_path):
    wide = Image(np.zeros((1, 70_000), np.uint8))
    for suffix, limit in ((".webp", 16383), (".jpg", 65500)):
        with pytest.raises(SignalError, match=f"at most {limit} pixels a side, got 70000x1"):
            wide.save(tmp_path / f"a{suffix}")
    assert staf.kinds.open(wide.save(tmp_path / "a.png")).shape == (1, 70_000)


@pytest.mark.parametrize("name", ["a.bmp", "a", "a.png.txt"])
def test_unknown_suffixes_are_refused(tmp_path, name):
    with pytest.raises(SignalError, match=r"an image is saved as \.png"):
        Image(pixels()).save(tmp_path / name)


@pytest.mark.parametrize("name", ["a photo with spaces.png", "фото 写真 é.tif", "UPPER.PNG", "#%?&.npy"])
def test_any_name_works(tmp_path, name):
    image = Image(pixels())
    back = staf.kinds.open(image.save(tmp_path / name))
    assert np.array_equal(back.array, image.array)
    assert back.name == os.path.splitext(name)[0]


@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
def test_a_writer_that_fails_midway_leaves_the_old_file(tmp_path, suffix):
    old = Image(pixels(seed=1))
    path = old.save(tmp_path / f"a{suffix}")

    def bands():
        yield old.array[:10]
        raise OSError(28, "No space left on device")

    with pytest.raises(SignalError, match="the disk is full"):
        write_bands(old, bands(), old.shape, path)
    assert np.array_equal(staf.kinds.open(path).array, old.array)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy", ".jpg", ".webp"])
def test_a_full_disk_leaves_the_old_file(small_disk, suffix):
    old = Image(pixels(seed=1))
    path = old.save(small_disk / f"a{suffix}")
    before = path.read_bytes()
    noise = np.random.default_rng(0).integers(0, 256, (700, 1000, 3), dtype=np.uint8)
    with pytest.raises(SignalError, match=r"cannot write '.*': "):
        Image(noise).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in small_disk.iterdir()] == [path.name]


def test_a_folder_without_permission_is_named(tmp_path, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(SignalError, match="no permission to write there"):
        Image(pixels()).save(small_disk / "a.png")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a tmpfs needs privileges that are missing here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
