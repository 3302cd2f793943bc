from __future__ import annotations

import io

import imagecodecs
import numpy as np
import PIL.Image
import pytest

from staf.kinds.image.png_writer import write_png
from tests.kinds.pictures import pixels, squeezed, srgb_profile


def written(array: np.ndarray, band: int, profile: bytes | None = None) -> bytes:
    buffer = io.BytesIO()
    bands = (array[top : top + band] for top in range(0, len(array), band))
    write_png(buffer, bands, array.shape, array.dtype, profile=profile)
    return buffer.getvalue()


@pytest.mark.parametrize("band", [1, 5, 100])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_libpng_reads_the_same_pixels(channels, dtype, band):
    array = pixels(channels=channels, dtype=dtype)
    decoded = imagecodecs.png_decode(written(array, band))
    assert decoded.dtype == dtype
    assert np.array_equal(decoded, squeezed(array))


def test_pillow_reads_the_same_pixels_and_profile():
    array, profile = pixels(), srgb_profile()
    picture = PIL.Image.open(io.BytesIO(written(array, 7, profile)))
    assert np.array_equal(np.asarray(picture), array)
    assert picture.info["icc_profile"] == profile


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 9, 1), (9, 1, 4)])
def test_tiny_images(shape):
    array = pixels(*shape)
    assert np.array_equal(imagecodecs.png_decode(written(array, 2)), squeezed(array))


def test_smooth_pictures_compress_as_well_as_pillow_does_it():
    y, x = np.mgrid[0:256, 0:256]
    smooth = (np.sin(x / 20) * np.cos(y / 30) * 100 + 128).astype(np.uint8)[..., None]
    picture = PIL.Image.fromarray(smooth[..., 0])
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    assert len(written(smooth, 64)) < 1.2 * len(buffer.getvalue())
