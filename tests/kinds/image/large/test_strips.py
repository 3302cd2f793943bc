"""Files decoded in bands: the same pixels as the ordinary readers give, whatever the band, and damage is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import tifffile

from staf.kinds.image.large import strips
from staf.kinds.image.large.strips import jpeg_bands, png_bands, tiff_bands
from staf.kinds.image.signal import Image
from staf.kinds.image.writing import write_image
from staf.signals.errors import SignalError

LIMIT = 10**6


def picture(shape, dtype=np.uint8, seed=0):
    y, x = np.mgrid[: shape[0], : shape[1]]
    base = (np.sin(x / 5)[..., None] + np.cos(y / 7)[..., None] + 2) / 4
    noise = np.random.default_rng(seed).random(shape) * 0.2
    values = (base * 0.8 + noise).clip(0, 1)
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else (values * np.iinfo(dtype).max).astype(dtype)


def joined(banded):
    bands = list(banded.bands())
    assert all(band.dtype == banded.dtype for band in bands)
    return np.concatenate(bands), len(bands)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("layout", [{"rowsperstrip": 7}, {"tile": (16, 32)}, {"rowsperstrip": 50}])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_tiffs_in_strips_and_tiles(tmp_path, dtype, channels, layout, compression):
    pixels = picture((50, 61, channels), dtype)
    path = tmp_path / "a.tif"
    stored = pixels[..., 0] if channels == 1 else pixels
    photometric = "minisblack" if channels == 1 else "rgb"
    extra = {"extrasamples": ["unassalpha"]} if channels == 4 else {}
    tifffile.imwrite(path, stored, photometric=photometric, compression=compression, **layout, **extra)
    found, bands = joined(tiff_bands(path, LIMIT))
    assert np.array_equal(found, pixels)
    rows = layout.get("rowsperstrip") or layout["tile"][0]
    assert bands == -(-50 // rows)


def test_big_endian_and_sparse_tiffs(tmp_path):
    pixels = picture((40, 30, 1), np.uint16)
    tifffile.imwrite(tmp_path / "big.tif", pixels[..., 0], byteorder=">", rowsperstrip=9)
    assert np.array_equal(joined(tiff_bands(tmp_path / "big.tif", LIMIT))[0], pixels)
    holes = np.zeros((64, 64), np.uint8)
    holes[20, 20] = 9
    tiles = [holes[y : y + 16, x : x + 16] for y in range(0, 64, 16) for x in range(0, 64, 16)]
    encoded = [tile.tobytes() if tile.any() else b"" for tile in tiles]
    tifffile.imwrite(tmp_path / "sparse.tif", iter(encoded), shape=(64, 64), dtype="uint8", tile=(16, 16))
    assert np.array_equal(joined(tiff_bands(tmp_path / "sparse.tif", LIMIT))[0][..., 0], holes)


def test_tiffs_that_need_a_conversion_are_left_to_the_whole_reader(tmp_path):
    pixels = picture((20, 30, 3))
    cases = {
        "planar": (pixels.transpose(2, 0, 1), {"photometric": "rgb", "planarconfig": "separate"}),
        "turned": (pixels, {"photometric": "rgb", "extratags": [(274, "H", 1, 6, True)]}),
        "white": (pixels[..., 0], {"photometric": "miniswhite"}),
        "cmyk": (np.concatenate([pixels, pixels[..., :1]], -1), {"photometric": "separated"}),
    }
    for name, (array, options) in cases.items():
        tifffile.imwrite(tmp_path / f"{name}.tif", array, **options)
        assert tiff_bands(tmp_path / f"{name}.tif", LIMIT) is None, name


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pngs_of_every_plain_kind(tmp_path, monkeypatch, dtype, channels):
    pixels = picture((37, 23, channels), dtype)
    path = write_image(Image(pixels), tmp_path / "a.png")
    found, bands = joined(png_bands(path, LIMIT))
    assert np.array_equal(found, pixels)
    assert bands == 1
    monkeypatch.setattr(strips, "BAND_BYTES", 5 * (1 + 23 * pixels[0, 0].nbytes))
    found, bands = joined(png_bands(path, LIMIT))
    assert np.array_equal(found, pixels)
    assert bands == 8


def test_pngs_with_paeth_and_average_rows_by_pillow(tmp_path):
    pixels = picture((64, 64, 3))
    PIL.Image.fromarray(pixels).save(tmp_path / "a.png", optimize=True)
    assert np.array_equal(joined(png_bands(tmp_path / "a.png", LIMIT))[0], pixels)


def test_pngs_that_need_a_conversion_are_left_to_the_whole_reader(tmp_path):
    picture_ = PIL.Image.fromarray(picture((20, 30, 3)))
    picture_.convert("P").save(tmp_path / "palette.png")
    picture_.convert("1").save(tmp_path / "bits.png")
    picture_.save(tmp_path / "transparent.png", transparency=(1, 2, 3))
    exif = PIL.Image.Exif()
    exif[274] = 6
    picture_.save(tmp_path / "turned.png", exif=exif)
    for name in ("palette", "bits", "transparent", "turned"):
        assert png_bands(tmp_path / f"{name}.png", LIMIT) is None, name


def test_jpegs(tmp_path, monkeypatch):
    pixels = picture((50, 61, 3))
    for name, array in (("colour", pixels), ("grey", pixels[..., 0])):
        path = tmp_path / f"{name}.jpg"
        PIL.Image.fromarray(array).save(path, quality=95)
        expected = np.asarray(PIL.Image.open(path)).reshape(50, 61, -1)
        monkeypatch.setattr(strips, "BAND_BYTES", 11 * 61 * expected.shape[2])
        found, bands = joined(jpeg_bands(path, LIMIT))
        assert np.array_equal(found, expected)
        assert bands == 5
    PIL.Image.fromarray(pixels).convert("CMYK").save(tmp_path / "inks.jpg")
    assert jpeg_bands(tmp_path / "inks.jpg", LIMIT) is None


def test_profiles_are_kept(tmp_path):
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    image = PIL.Image.fromarray(picture((20, 30, 3)))
    image.save(tmp_path / "a.jpg", icc_profile=profile)
    image.save(tmp_path / "a.png", icc_profile=profile)
    image.save(tmp_path / "a.tif", icc_profile=profile)
    readers = {"jpg": jpeg_bands, "png": png_bands, "tif": tiff_bands}
    assert all(reader(tmp_path / f"a.{suffix}", LIMIT).profile == profile for suffix, reader in readers.items())


def test_too_many_pixels_are_refused_before_decoding(tmp_path):
    image = PIL.Image.fromarray(picture((20, 30, 3)))
    for suffix, reader in (("jpg", jpeg_bands), ("png", png_bands), ("tif", tiff_bands)):
        image.save(tmp_path / f"a.{suffix}")
        with pytest.raises(SignalError, match="30x20 pixels, more than max_pixels=599"):
            reader(tmp_path / f"a.{suffix}", 599)


def test_damage_is_named(tmp_path):
    image = PIL.Image.fromarray(picture((200, 300, 3)))
    for suffix, reader in (("jpg", jpeg_bands), ("png", png_bands), ("tif", tiff_bands)):
        path: Path = tmp_path / f"a.{suffix}"
        image.save(path)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(SignalError, match=r"damaged|cut short"):
            joined(reader(path, LIMIT))
    image.save(tmp_path / "b.png")
    data = bytearray((tmp_path / "b.png").read_bytes())
    data[len(data) // 2] ^= 255
    (tmp_path / "b.png").write_bytes(data)
    with pytest.raises(SignalError, match="damaged"):
        joined(png_bands(tmp_path / "b.png", LIMIT))
