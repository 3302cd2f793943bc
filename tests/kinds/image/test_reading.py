from __future__ import annotations

import struct
import zlib

import imagecodecs
import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest

import staf.kinds
from staf.kinds import Image
from staf.signals import SignalError
from tests.kinds.pictures import pixels, squeezed, srgb_profile


def exif(orientation: int) -> PIL.Image.Exif:
    tags = PIL.Image.Exif()
    tags[274] = orientation
    return tags


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_sixteen_bit_png_of_another_writer_keeps_its_bits(tmp_path, channels):
    array = pixels(channels=channels, dtype=np.uint16)
    (tmp_path / "a.png").write_bytes(imagecodecs.png_encode(squeezed(array)))
    image = staf.kinds.open(tmp_path / "a.png")
    assert image.bit_depth == 16
    assert np.array_equal(image.array, array)


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_eight_bit_png_of_another_writer(tmp_path, mode):
    array = pixels(channels=len(mode))
    PIL.Image.fromarray(squeezed(array)).save(tmp_path / "a.png")
    image = staf.kinds.open(tmp_path / "a.png")
    assert image.bit_depth == 8
    assert np.array_equal(image.array, array)


def test_one_bit_png(tmp_path):
    mask = pixels(channels=1)[..., 0] > 99
    PIL.Image.fromarray(mask).save(tmp_path / "a.png")
    image = staf.kinds.open(tmp_path / "a.png")
    assert np.array_equal(image.array[..., 0], np.where(mask, 255, 0))
    assert "two-level" in image.notes[0]


@pytest.mark.parametrize("transparent", [None, 3])
def test_palettes_are_expanded_and_said(tmp_path, transparent):
    picture = PIL.Image.fromarray(pixels()).quantize(16)
    options = {} if transparent is None else {"transparency": transparent}
    picture.save(tmp_path / "a.png", **options)
    image = staf.kinds.open(tmp_path / "a.png")
    assert np.array_equal(image.array[..., :3], np.asarray(picture.convert("RGB")))
    assert "palette" in image.notes[0]
    if transparent is not None:
        assert np.array_equal(image.array[..., 3], np.where(np.asarray(picture) == transparent, 0, 255))


def test_a_transparent_colour_becomes_alpha(tmp_path):
    array = pixels(channels=1)
    PIL.Image.fromarray(array[..., 0]).save(tmp_path / "a.png", transparency=0)
    image = staf.kinds.open(tmp_path / "a.png")
    assert image.out_features == 2
    assert np.array_equal(image.array[..., 1], np.where(array[..., 0] == 0, 0, 255))


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_and_said(tmp_path, suffix, orientation):
    array = pixels(24, 40)
    PIL.Image.fromarray(array).save(tmp_path / f"a{suffix}", exif=exif(orientation), lossless=True)
    image = staf.kinds.open(tmp_path / f"a{suffix}")
    with PIL.Image.open(tmp_path / f"a{suffix}") as picture:
        assert np.array_equal(image.array, np.asarray(PIL.ImageOps.exif_transpose(picture)))
    assert [note for note in image.notes if "upright" in note] == (
        [] if orientation == 1 else [f"turned upright as its EXIF orientation ({orientation}) asks"]
    )


def test_exif_orientation_of_a_sixteen_bit_png(tmp_path):
    array = pixels(24, 40, dtype=np.uint16)
    data = imagecodecs.png_encode(array)
    body = exif(6).tobytes().removeprefix(b"Exif\0\0")
    chunk = struct.pack(">I", len(body)) + b"eXIf" + body + struct.pack(">I", zlib.crc32(b"eXIf" + body))
    (tmp_path / "a.png").write_bytes(data[:33] + chunk + data[33:])
    assert np.array_equal(staf.kinds.open(tmp_path / "a.png").array, np.rot90(array, -1))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_profiles_are_kept_said_and_written_back(tmp_path, suffix, dtype):
    path = Image(pixels(dtype=dtype), profile=srgb_profile()).save(tmp_path / f"a{suffix}")
    image = staf.kinds.open(path)
    assert image.profile == srgb_profile()
    assert image.notes == ["the colour profile 'sRGB built-in' is kept, and written back on saving"]
    again = image.from_values(image.values()).save(tmp_path / f"b{suffix}")
    assert staf.kinds.open(again).profile == srgb_profile()


def test_a_profile_of_another_colour_space_is_dropped_and_said(tmp_path):
    PIL.Image.fromarray(pixels(channels=1)[..., 0]).save(tmp_path / "a.jpg", icc_profile=srgb_profile())
    image = staf.kinds.open(tmp_path / "a.jpg")
    assert image.profile is None
    assert "dropped" in image.notes[0]


@pytest.mark.parametrize("profile", [None, b"\0" * 200])
def test_cmyk_jpeg_is_converted_and_said(tmp_path, profile):
    picture = PIL.Image.fromarray(np.full((32, 32, 3), (200, 30, 60), np.uint8)).convert("CMYK")
    picture.save(tmp_path / "a.jpg", quality=100, icc_profile=profile)
    image = staf.kinds.open(tmp_path / "a.jpg")
    assert image.out_features == 3
    assert np.abs(image.array[16, 16].astype(int) - (200, 30, 60)).max() <= 4
    assert "CMYK" in image.notes[0]
    assert image.profile is None


def test_animations_give_their_first_frame_and_say_so(tmp_path):
    first, second = (PIL.Image.fromarray(pixels(seed=seed)) for seed in (0, 1))
    for name in ("a.webp", "a.png"):
        first.save(tmp_path / name, save_all=True, append_images=[second], lossless=True)
        image = staf.kinds.open(tmp_path / name)
        assert np.array_equal(image.array[..., :3], pixels(seed=0))
        assert image.notes[0] == "the first of 2 frames is used"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.bool_])
@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 3), (5, 6, 4)])
def test_npy(tmp_path, shape, dtype):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    expected = array * np.uint8(255) if dtype is np.bool_ else array
    assert np.array_equal(staf.kinds.open(tmp_path / "a.npy").array, expected.reshape(5, 6, -1))


def test_npy_runs_no_pickle(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(SignalError, match="pickled"):
        staf.kinds.open(tmp_path / "a.npy")
    assert not Trap.sprung


class Trap:
    sprung = False

    @staticmethod
    def spring() -> None:
        Trap.sprung = True

    def __reduce__(self):
        return Trap.spring, ()
