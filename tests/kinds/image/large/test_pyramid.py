"""Pyramidal TIFF: what is written is read back, level by level, by another library."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
import torch

from staf.kinds.image.large.pyramid import write_pyramid
from staf.kinds.image.signal import Image
from staf.signals.errors import SignalError


def picture(shape, dtype):
    values = np.random.default_rng(0).random(shape)
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else (values * np.iinfo(dtype).max).astype(dtype)


def bands(pixels, rows=7):
    return (pixels[top : top + rows] for top in range(0, len(pixels), rows))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_levels_are_the_image_and_its_halves(tmp_path, dtype, channels):
    pixels = picture((75, 101, channels), dtype)
    path = write_pyramid(Image(pixels), bands(pixels), (75, 101), tmp_path / "a.tif", tile=32)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        assert (page.is_tiled, page.tile) == (True, (32, 32))
        levels = [page.asarray(), *(sub.asarray() for sub in page.pages)]
    assert np.array_equal(levels[0].reshape(pixels.shape), pixels)
    assert [level.shape[:2] for level in levels] == [(75, 101), (38, 51), (19, 26)]
    block = pixels[:2, :2].astype(np.float64).mean((0, 1))
    expected = block if np.dtype(dtype).kind == "f" else np.rint(block)
    assert np.allclose(levels[1].reshape(38, 51, channels)[0, 0], expected, atol=1 if channels else 0, rtol=1e-5)
    corner = levels[1].reshape(38, 51, channels)[-1, -1].astype(np.float64)
    assert np.allclose(corner, pixels[-1, -1], rtol=1e-6)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tif"]


def test_a_small_image_is_one_level(tmp_path):
    pixels = picture((20, 30, 3), np.uint8)
    path = write_pyramid(Image(pixels), bands(pixels), (20, 30), tmp_path / "a.tiff", tile=32)
    with tifffile.TiffFile(path) as file:
        assert not file.pages[0].pages
        assert np.array_equal(file.pages[0].asarray(), pixels)


def test_the_profile_is_kept_and_other_formats_are_refused(tmp_path):
    pixels = picture((40, 40, 3), np.uint8)
    image = Image(pixels, profile=b"profile")
    path = write_pyramid(image, bands(pixels), (40, 40), tmp_path / "a.tif", tile=16)
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].iccprofile == b"profile"
    with pytest.raises(SignalError, match=r"as \.tif or \.tiff"):
        write_pyramid(image, bands(pixels), (40, 40), tmp_path / "a.png")
    with pytest.raises(SignalError, match="make up 40 rows, got 7"):
        write_pyramid(image, [pixels[:7]], (40, 40), tmp_path / "b.tif")
    assert not (tmp_path / "b.tif").exists()


def test_a_field_is_rendered_into_a_pyramid(tmp_path):
    image = Image(np.zeros((30, 40), np.uint8))

    def ramp(x):
        return (x[:, 1:] + 1) / 2

    path = image.render_file(ramp, tmp_path / "a.tif", scale=20, pyramid=True, device="cpu")
    assert isinstance(ramp(torch.zeros(1, 2)), torch.Tensor)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        assert page.shape == (600, 800)
        assert [sub.shape for sub in page.pages] == [(300, 400)]
        assert np.array_equal(page.asarray(), image.render(ramp, scale=20).array[..., 0])
