from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import PIL.Image
import pytest
import tifffile
import torch

import staf.kinds
from staf.kinds import Image
from staf.kinds.registry import Format, Kind, register, unregister
from staf.signals import SignalError
from tests.kinds.pictures import pixels, squeezed

SUFFIXES = (".png", ".jpg", ".tif", ".webp", ".npy")


def refused(path, message, **options):
    with pytest.raises(SignalError, match=message) as caught:
        staf.kinds.open(path, **options)
    sentence = str(caught.value)
    assert sentence.startswith(f"cannot open {str(path)!r}: ")
    assert "\n" not in sentence


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_content_decides_and_not_the_suffix(tmp_path, suffix):
    image = Image(pixels())
    written = image.save(tmp_path / f"a{suffix}")
    renamed = written.rename(tmp_path / "renamed.txt")
    opened = staf.kinds.open(str(renamed))
    assert opened.shape == image.shape
    assert opened.name == "renamed"
    assert opened.source == str(renamed)


def test_names_can_be_given(tmp_path):
    path = Image(pixels()).save(tmp_path / "a.png")
    assert staf.kinds.open(path, name="mine").name == "mine"


def test_missing_folders_empty_and_unknown_files(tmp_path):
    refused(tmp_path / "no.png", "there is no such file")
    refused(tmp_path, "it is a folder")
    (tmp_path / "empty.png").touch()
    refused(tmp_path / "empty.png", "the file is empty")
    (tmp_path / "text.png").write_text("this is no picture")
    refused(tmp_path / "text.png", "no known format; this version reads PNG, JPEG, TIFF, WebP, GIF, NPY")
    for kind, known in (("audio", "WAV, FLAC, Ogg, MP3$"), ("scene", "PNG, JPEG")):
        with pytest.raises(SignalError, match=f"no known format of kind '{kind}'; this version reads {known}"):
            staf.open(tmp_path / "text.png", kind=kind)
    os.mkfifo(tmp_path / "pipe.png")
    refused(tmp_path / "pipe.png", "not a regular file")


@pytest.mark.parametrize(
    ("head", "suffix", "message"),
    [
        (b"GIF89a", ".gif", r"it is damaged or cut short, or no GIF"),
        (
            b"\0\0\0\x18ftypheic",
            ".heic",
            r"it is HEIC \(image\), which is not read: convert it to one of PNG, JPEG, TIFF, WebP, GIF, NPY$",
        ),
        (b"\0\0\0\x18ftypisom", ".mp4", r"it is damaged or cut short, or no MP4"),
        (b"P6\n", ".ppm", r"it is Netpbm \(image\), which is not read: convert it to one of PNG, "),
        (b"x,y\n", ".csv", r"it is CSV \(grid\), which is not read: convert it to one of NPY, NPZ, "),
        (b"PK\x03\x04", ".npz", r"it is ZIP \(archive\), which is not read: convert it to one of PNG, .* WAV"),
    ],
)
def test_recognised_files_that_are_not_read_are_named(tmp_path, head, suffix, message):
    (tmp_path / f"a{suffix}").write_bytes(head + b"\0" * 100)
    refused(tmp_path / f"a{suffix}", message)


@pytest.mark.parametrize(
    ("shape", "kind", "message"),
    [
        ((2, 3, 4, 5), "image", r"must have shape \(h, w\) or \(h, w, c\), got \(2, 3, 4, 5\)"),
        ((20, 3, 40), "image", r"1 to 4 channels, got 40 in shape \(20, 3, 40\)"),
        ((100,), "audio", r"an array of shape \(100,\) is not opened as kind 'audio': use Audio\("),
    ],
)
def test_an_array_that_is_not_of_the_kind_asked_for(shape, kind, message):
    for array in (np.zeros(shape, np.float32), torch.zeros(shape)):
        with pytest.raises(SignalError, match=message):
            staf.kinds.open(array, kind=kind)


def test_another_format_is_one_line_in_the_registry(tmp_path):
    register(Kind("toy", Image, formats=(Format("Toy", "toy", ((0, b"TOY!"),), f"{__name__}:read_toy"),)))
    try:
        (tmp_path / "a.toy").write_bytes(b"TOY!\x07")
        assert staf.kinds.open(tmp_path / "a.toy", max_pixels=123).array.ravel().tolist() == [7, 123]
    finally:
        unregister("toy")


def read_toy(path, limit):
    return Image(np.array([[path.read_bytes()[4], limit]], np.uint8))


@pytest.mark.parametrize("keep", [0.02, 0.3, 0.7, 0.97])
@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated_files_are_refused(tmp_path, suffix, depth, keep):
    path = Image(pixels(64, 64, dtype=depth)).save(tmp_path / f"a{suffix}")
    data = path.read_bytes()
    path.write_bytes(data[: max(9, int(len(data) * keep))])
    refused(path, r"damaged or cut short|no known format")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_never_crash(tmp_path, suffix):
    path = Image(pixels(48, 48)).save(tmp_path / f"a{suffix}")
    data = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(data)
        for position in generator.integers(0, min(len(data), 400), 4):
            damaged[position] = generator.integers(0, 256)
        path.write_bytes(bytes(damaged))
        told = "cannot open ..., or opened"
        try:
            staf.kinds.open(path, max_pixels=10**6)
        except SignalError as error:
            told = str(error)
        assert told.startswith("cannot open ")
        assert "\n" not in told


def png_bomb(path, width, height, depth):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


@pytest.mark.parametrize("depth", [8, 16])
def test_decompression_bombs_are_refused_from_their_header(tmp_path, depth):
    png_bomb(tmp_path / "a.png", 100_000, 100_000, depth)
    refused(tmp_path / "a.png", "announces 100000x100000 pixels, more than max_pixels=400000000")
    png_bomb(tmp_path / "a.png", 0, 5, depth)
    refused(tmp_path / "a.png", "at least one pixel, got 0x5")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_max_pixels_holds_for_every_format(tmp_path, suffix):
    path = Image(pixels(20, 30)).save(tmp_path / f"a{suffix}")
    assert staf.kinds.open(path, max_pixels=600).shape == (20, 30)
    refused(path, "30x20 pixels, more than max_pixels=599", max_pixels=599)


@pytest.mark.parametrize("options", [{"lossless": True}, {"lossless": False}, {"lossless": True, "exif": b"Exif\0\0x"}])
def test_every_kind_of_webp_is_measured_from_its_header(tmp_path, options, monkeypatch):
    PIL.Image.fromarray(pixels(20, 30)).save(tmp_path / "a.webp", **options)
    monkeypatch.setattr("PIL.WebPImagePlugin.WebPImageFile", None)
    refused(tmp_path / "a.webp", "30x20 pixels, more than max_pixels=599", max_pixels=599)


def test_pictures_beyond_pillows_own_limit_open(tmp_path, monkeypatch):
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 100)
    for suffix in (".png", ".jpg"):
        path = Image(pixels(20, 30)).save(tmp_path / f"a{suffix}")
        assert staf.kinds.open(path).shape == (20, 30)


def test_nan_and_channels_in_files(tmp_path):
    np.save(tmp_path / "nan.npy", np.array([[0.0, np.nan]]))
    refused(tmp_path / "nan.npy", "NaN or Inf")
    np.save(tmp_path / "five.npy", np.zeros((4, 4, 5), np.uint8))
    refused(tmp_path / "five.npy", r"c up to 4, got \(4, 4, 5\)", kind="image")
    np.save(tmp_path / "line.npy", np.zeros(4, np.uint8))
    refused(tmp_path / "line.npy", r"got \(4,\)", kind="image")
    np.save(tmp_path / "none.npy", np.zeros((0, 4), np.uint8))
    refused(tmp_path / "none.npy", "at least one pixel")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 9000)])
def test_extreme_shapes_open(tmp_path, suffix, shape):
    array = np.full((*shape, 1), 200, np.uint8)
    opened = staf.kinds.open(Image(array).save(tmp_path / f"a{suffix}"))
    assert opened.shape == shape
    assert np.abs(opened.array[..., :1].astype(int) - 200).max() <= 1


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (7, {}, "source must be a path, an array, a tensor or a Pillow image, got int"),
        (np.zeros((2, 2), np.uint8), {"max_pixels": 0}, "max_pixels must be at least 1, got 0"),
        ("a.png", {"layout": "chw"}, "layout is for arrays and tensors"),
    ],
)
def test_bad_arguments_are_refused(source, options, message):
    with pytest.raises(SignalError, match=message):
        staf.kinds.open(source, **options)


def test_matrices_open_as_the_arrays_they_are():
    """A matrix stays two-dimensional when an axis is added, which once overran memory: hence a process of its own."""
    code = """
import numpy as np, staf
for dtype in 200 * [np.uint8, np.uint16, np.float32, np.bool_]:
    values = np.arange(35).reshape(5, 7).astype(dtype)
    image = staf.open(np.matrix(values))
    assert type(image.array) is np.ndarray and image.array.shape == (5, 7, 1)
    assert np.array_equal(image.values(), staf.open(values).values())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_masked_arrays_are_refused_where_anything_is_masked():
    values = np.ma.masked_greater(np.eye(4, dtype=np.float32), 0.5)
    with pytest.raises(SignalError, match="4 of 16 elements of the array are masked: fill them first"):
        staf.kinds.open(values)
    assert staf.kinds.open(values.filled(0)).array.max() == 0
    assert staf.kinds.open(np.ma.array(np.eye(4))).shape == (4, 4)
    with pytest.raises(SignalError, match="elements of samples are masked"):
        staf.kinds.Audio(values[0], 8000)
    with pytest.raises(SignalError, match="elements of vertices are masked"):
        staf.kinds.Shape.from_arrays(values[:, :3], np.array([[0, 1, 2]]))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(4).to_sparse(),
        torch.empty(4, 4, device="meta"),
        torch.eye(4).to(torch.float8_e4m3fn),
        torch.eye(4, dtype=torch.complex64),
    ],
)
def test_tensors_that_are_no_plain_numbers_are_refused(tensor):
    with pytest.raises(SignalError, match=r"a tensor must be dense|got complex64"):
        staf.kinds.open(tensor)


def test_a_pillow_image_that_cannot_be_decoded_is_one_sentence(tmp_path):
    path = Image(pixels(64, 64)).save(tmp_path / "a.jpg")
    path.write_bytes(path.read_bytes()[:-200])
    with PIL.Image.open(path) as picture, pytest.raises(SignalError, match=r"damaged or cut short.*truncated"):
        staf.kinds.open(picture)


def test_unreadable_files_are_named(tmp_path, monkeypatch):
    path = Image(pixels()).save(tmp_path / "a.png")

    def denied(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    refused(path, "Permission denied")


def test_importing_signals_loads_no_image_library():
    code = "import sys, staf.signals; print(sorted({'PIL', 'tifffile', 'imagecodecs', 'skimage'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tiffs_of_float_and_grey_alpha_open(tmp_path):
    array = pixels(channels=2, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", squeezed(array), photometric="minisblack", planarconfig="contig",
                     extrasamples=("unassalpha",))  # fmt: skip
    assert np.array_equal(staf.kinds.open(tmp_path / "a.tif").array, array)


def test_a_gif_of_one_frame_is_an_image_and_one_of_several_a_video(tmp_path):
    frames = [PIL.Image.fromarray(pixels(40, 60)).rotate(angle).quantize(64) for angle in (0, 40, 80)]
    frames[0].save(tmp_path / "one.gif")
    frames[0].save(tmp_path / "three.gif", save_all=True, append_images=frames[1:])
    image = staf.open(tmp_path / "one.gif")
    assert image.kind == "image"
    assert np.array_equal(image.array, np.asarray(frames[0].convert("RGB")))
    assert staf.open(tmp_path / "three.gif").shape == (3, 40, 60)
    # A kind that is named is taken.
    assert staf.open(tmp_path / "one.gif", kind="video").shape == (1, 40, 60)
    first = staf.open(tmp_path / "three.gif", kind="image")
    assert np.array_equal(first.array, image.array)
    assert "the first of 3 frames is used" in first.notes


def test_a_small_gif_that_announces_a_huge_picture_is_refused(tmp_path):
    frame = b"," + struct.pack("<4HB", 0, 0, 19000, 19000, 0) + b"\x02\x02\x4c\x01\x00"
    (tmp_path / "a.gif").write_bytes(b"GIF89a" + struct.pack("<2H3B", 19000, 19000, 0, 0, 0) + frame + b";")
    refused(tmp_path / "a.gif", "made to fill memory")


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint32"])
@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 3)])
def test_integers_that_no_picture_has_are_grids_in_memory_as_in_files(tmp_path, dtype, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    for source in (array, torch.from_numpy(array), tmp_path / "a.npy"):
        assert repr(staf.open(source, name="a")) == repr(staf.open(array, kind="grid", name="a"))
        with pytest.raises(SignalError, match=f"an image must be uint8, uint16, float or bool, got {dtype}"):
            staf.open(source, kind="image")
