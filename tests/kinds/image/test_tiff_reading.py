from __future__ import annotations

import numpy as np
import PIL.Image
import pytest
import tifffile

import staf.kinds
from staf.signals import SignalError
from tests.kinds.pictures import DTYPES, pixels, squeezed


@pytest.mark.parametrize("options", [{}, {"compression": "lzw"}, {"compression": "zstd", "predictor": True},
                                     {"tile": (16, 32)}, {"bigtiff": True}, {"byteorder": ">"}])  # fmt: skip
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts_and_compressions(tmp_path, dtype, options):
    array = pixels(dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", array, photometric="rgb", **options)
    image = staf.kinds.open(tmp_path / "a.tif")
    assert image.dtype == dtype
    assert np.array_equal(image.array, array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_grey(tmp_path, dtype):
    array = pixels(channels=1, dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", squeezed(array))
    assert np.array_equal(staf.kinds.open(tmp_path / "a.tif").array, array)


@pytest.mark.parametrize("channels", [3, 4])
def test_planes_stored_apart(tmp_path, channels):
    array = pixels(channels=channels, dtype=np.uint16)
    extra = ("unassalpha",) if channels == 4 else None
    planes = np.ascontiguousarray(array.transpose(2, 0, 1))
    tifffile.imwrite(tmp_path / "a.tif", planes, photometric="rgb", planarconfig="separate", extrasamples=extra)
    assert np.array_equal(staf.kinds.open(tmp_path / "a.tif").array, array)


def test_white_as_zero_is_inverted_and_said(tmp_path):
    array = pixels(channels=1, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", squeezed(array), photometric="miniswhite")
    image = staf.kinds.open(tmp_path / "a.tif")
    assert np.array_equal(image.array, 65535 - array)
    assert "inverted" in image.notes[0]


@pytest.mark.parametrize("bits", [4, 12])
def test_odd_depths_fill_the_range_and_say_so(tmp_path, bits):
    top = 2**bits - 1
    dtype = np.uint8 if bits < 8 else np.uint16
    array = np.rint(pixels(channels=1, dtype=np.float32)[..., 0] * top).astype(dtype)
    tifffile.imwrite(tmp_path / "a.tif", array, bitspersample=bits)
    image = staf.kinds.open(tmp_path / "a.tif")
    full = np.iinfo(dtype).max
    assert np.array_equal(image.array[..., 0], np.rint(array.astype(float) * full / top))
    assert image.notes == [f"{bits}-bit samples are stretched to {image.bit_depth} bits"]


def test_one_bit(tmp_path):
    mask = pixels(channels=1)[..., 0] > 99
    PIL.Image.fromarray(mask).save(tmp_path / "a.tif")
    assert np.array_equal(staf.kinds.open(tmp_path / "a.tif").array[..., 0], np.where(mask, 255, 0))


def test_palette(tmp_path):
    picture = PIL.Image.fromarray(pixels()).quantize(16)
    picture.save(tmp_path / "a.tif")
    image = staf.kinds.open(tmp_path / "a.tif")
    assert image.dtype == np.uint8
    assert np.array_equal(image.array, np.asarray(picture.convert("RGB")))
    assert "palette" in image.notes[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_cmyk_is_converted_and_said(tmp_path, dtype):
    full = np.iinfo(dtype).max
    inks = np.broadcast_to(np.array([0, full, full, 0], dtype), (20, 30, 4))
    tifffile.imwrite(tmp_path / "a.tif", inks, photometric="separated")
    image = staf.kinds.open(tmp_path / "a.tif")
    assert image.array.shape == (20, 30, 3)
    assert image.array[0, 0].tolist() == [255, 0, 0]
    assert any("CMYK" in note for note in image.notes)


def test_orientation(tmp_path):
    array = pixels(24, 40, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", array, photometric="rgb", extratags=[(274, 3, 1, 6, True)])
    image = staf.kinds.open(tmp_path / "a.tif")
    assert np.array_equal(image.array, np.rot90(array, -1))
    assert "upright" in image.notes[0]


def test_pages_give_the_first_and_say_so(tmp_path):
    stack = np.stack([pixels(channels=1, seed=seed)[..., 0] for seed in range(3)])
    tifffile.imwrite(tmp_path / "a.tif", stack, photometric="minisblack")
    image = staf.kinds.open(tmp_path / "a.tif")
    assert np.array_equal(image.array[..., 0], stack[0])
    assert image.notes == ["the first of 3 pages is used"]


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (np.zeros((9, 9, 6), np.uint8), {"photometric": "minisblack", "planarconfig": "contig"}, "channels, got 6"),
        (np.zeros((9, 9, 3), np.uint8), {"photometric": "cielab"}, "got CIELAB"),
        (np.zeros((9, 9), np.int16), {}, "got int16"),
        (np.zeros((9, 9), np.uint32), {}, "got uint32"),
        (np.full((9, 9), np.nan, np.float32), {}, "NaN or Inf"),
    ],
)
def test_what_is_no_image_is_refused(tmp_path, array, options, message):
    tifffile.imwrite(tmp_path / "a.tif", array, **options)
    with pytest.raises(SignalError, match=message):
        staf.kinds.open(tmp_path / "a.tif")


def test_a_bad_file_is_told_once_and_logs_nothing(tmp_path, caplog):
    tifffile.imwrite(tmp_path / "a.tif", pixels(), photometric="rgb")
    (tmp_path / "a.tif").write_bytes((tmp_path / "a.tif").read_bytes()[:200])
    with pytest.raises(SignalError, match="damaged or cut short"):
        staf.kinds.open(tmp_path / "a.tif")
    assert caplog.records == []
