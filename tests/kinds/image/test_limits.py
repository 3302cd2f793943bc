"""Small files that announce much, and files that were cut: refused before anything of that size is decoded."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import PIL.Image
import pytest
import tifffile

import staf.kinds
from staf.kinds import Image
from staf.kinds.image.jpeg_reading import has_picture
from staf.kinds.image.png_reading import PASSES
from staf.signals import SignalError
from tests.kinds.bounded import bounded
from tests.kinds.pictures import pixels


def refused(path, message, **options):
    with bounded(), pytest.raises(SignalError, match=message) as caught:
        staf.kinds.open(path, **options)
    assert "\n" not in str(caught.value)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, raw: bytes, interlaced: int = 0, extra: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    body = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(("depth", "colour", "size"), [(8, 2, 3), (16, 6, 8), (8, 0, 1), (16, 0, 2), (1, 0, 0.125)])
def test_a_png_whose_rows_are_missing_is_refused_at_once(tmp_path, depth, colour, size):
    side = 20_000
    (tmp_path / "a.png").write_bytes(png(side, side, depth, colour, bytes(1 + int(side * size))))
    refused(tmp_path / "a.png", r"cut short: 20000x20000 pixels take [\d,]+ bytes or more, and it holds")


@pytest.mark.parametrize("rows", [1, 50, 99])
@pytest.mark.parametrize(("depth", "colour", "size"), [(8, 2, 3), (16, 2, 6), (8, 6, 4), (8, 3, 1), (1, 0, 0.125)])
def test_short_rows_of_a_png_are_refused(tmp_path, depth, colour, size, rows):
    row = 1 + -(-int(100 * size * 8) // 8)
    palette = chunk(b"PLTE", bytes(768)) if colour == 3 else b""
    whole = np.random.default_rng(0).integers(0, 256, (100, row)).astype(np.uint8)
    whole[:, 0] = 0
    (tmp_path / "whole.png").write_bytes(png(100, 100, depth, colour, whole.tobytes(), extra=palette))
    assert staf.kinds.open(tmp_path / "whole.png").shape == (100, 100)
    (tmp_path / "a.png").write_bytes(png(100, 100, depth, colour, whole[:rows].tobytes(), extra=palette))
    refused(tmp_path / "a.png", f"cut short: {rows * row:,} of {100 * row:,} bytes of its rows are there")


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (13, 21), (100, 1)])
def test_interlaced_rows_are_counted(tmp_path, size):
    width, height = size
    array = pixels(height, width, 3)
    passes = [array[y::dy, x::dx] for x, y, dx, dy in PASSES if x < width and y < height]
    raw = b"".join(b"\0" + row.tobytes() for part in passes for row in part)
    (tmp_path / "a.png").write_bytes(png(width, height, 8, 2, raw, 1))
    assert np.array_equal(staf.kinds.open(tmp_path / "a.png").array, array)
    (tmp_path / "a.png").write_bytes(png(width, height, 8, 2, raw[:-1], 1))
    refused(tmp_path / "a.png", "bytes of its rows are there")


def test_what_a_png_brings_along_is_bounded(tmp_path):
    with (tmp_path / "a.png").open("wb") as file:
        file.write(png(4, 4, 8, 0, bytes(20))[:33])
        for _ in range(3):
            file.write(struct.pack(">I4s", 2**25, b"teXt"))
            file.seek(2**25 + 4, 1)
        file.write(chunk(b"IDAT", zlib.compress(bytes(20))) + chunk(b"IEND", b""))
    refused(tmp_path / "a.png", "bytes beside its pixels")
    (tmp_path / "b.png").write_bytes(png(4, 4, 8, 0, bytes(20), extra=chunk(b"teXt", b"") * 200_000))
    refused(tmp_path / "b.png", "chunks in 2,4")
    (tmp_path / "c.png").write_bytes(png(4, 4, 8, 0, bytes(20))[:-12])
    refused(tmp_path / "c.png", "cut short: its last chunk")


def jpeg(array: np.ndarray, **options) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(array).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def resized(data: bytes, width: int, height: int) -> bytes:
    """The JPEG with another size in its header."""
    frame = next(place for marker in (b"\xff\xc0", b"\xff\xc2") if (place := data.find(marker)) > 0)
    return data[: frame + 5] + struct.pack(">HH", height, width) + data[frame + 9 :]


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}])
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_tiny_jpeg_of_a_huge_picture_is_refused_at_once(tmp_path, mode, options):
    buffer = io.BytesIO()
    PIL.Image.new(mode, (16, 16)).save(buffer, "JPEG", **options)
    (tmp_path / "a.jpg").write_bytes(resized(buffer.getvalue(), 20_000, 20_000))
    refused(tmp_path / "a.jpg", r"20000x20000 pixels take [\d,]+ bytes or more, and it holds")


def with_scans(data: bytes, scans: int) -> bytes:
    """A progressive JPEG whose last pass is repeated."""
    last = data.rfind(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + b"\xff\xd9"


def test_a_jpeg_of_thousands_of_passes_is_refused_at_once(tmp_path):
    data = jpeg(np.zeros((2000, 2000, 3), np.uint8), progressive=True)
    (tmp_path / "a.jpg").write_bytes(with_scans(data, 2000))
    refused(tmp_path / "a.jpg", "come in 2,009 passes, and at most 32 are decoded")
    (tmp_path / "a.jpg").write_bytes(with_scans(jpeg(np.zeros((16, 16), np.uint8), progressive=True), 20_000))
    refused(tmp_path / "a.jpg", "more than 10,000 segments")
    (tmp_path / "a.jpg").write_bytes(data)
    assert staf.kinds.open(tmp_path / "a.jpg").shape == (2000, 2000)


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"restart_marker_rows": 4}])
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.98])
@pytest.mark.parametrize("ended", [False, True])
def test_a_jpeg_that_ends_early_is_refused_even_with_an_end_marker(tmp_path, options, keep, ended):
    data = jpeg(pixels(150, 200), quality=90, **options)
    (tmp_path / "a.jpg").write_bytes(data[: int(len(data) * keep)] + b"\xff\xd9" * ended)
    refused(tmp_path / "a.jpg", "cut short")


@pytest.mark.parametrize("orientation", [1, 6])
def test_grey_corners_are_no_sign_of_damage(tmp_path, orientation):
    tags = PIL.Image.Exif()
    tags[274] = orientation
    (tmp_path / "a.jpg").write_bytes(jpeg(np.full((40, 60, 3), 128, np.uint8), exif=tags))
    assert np.abs(staf.kinds.open(tmp_path / "a.jpg").array.astype(int) - 128).max() <= 1


def test_a_jpeg_that_goes_on_without_markers_is_refused(tmp_path):
    with (tmp_path / "a.jpg").open("wb") as file:
        file.write(jpeg(pixels(16, 16))[:20])
        file.truncate(9 << 30)
    refused(tmp_path / "a.jpg", "no marker follows byte 20")


def test_tables_are_told_from_pictures():
    whole = jpeg(pixels(16, 16))
    tables = whole[: whole.find(b"\xff\xc0")]
    assert has_picture(whole)
    assert not has_picture(tables + b"\xff\xd9")


def test_a_lossless_webp_of_one_colour_cannot_fill_memory(tmp_path):
    PIL.Image.new("RGB", (4000, 4000), (9, 9, 9)).save(tmp_path / "a.webp", lossless=True)
    data = bytearray((tmp_path / "a.webp").read_bytes())
    assert staf.kinds.open(tmp_path / "a.webp").shape == (4000, 4000)
    bits = int.from_bytes(data[21:25], "little") & ~0xFFFFFFF
    data[21:25] = (bits | 16382 | 16382 << 14).to_bytes(4, "little")
    (tmp_path / "a.webp").write_bytes(data)
    refused(tmp_path / "a.webp", "16383x16383 pixels, 1,073,610,756 bytes, in a file that holds")


def test_padded_files_are_not_read_whole(tmp_path):
    path = Image(pixels(16, 16)).save(tmp_path / "a.webp")
    with path.open("r+b") as file:
        file.truncate(9 << 30)
    refused(path, "and its header announces no more than")
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1))
        file.truncate(9 << 30)
    refused(tmp_path / "a.npy", "its NPY header has 4,294,967,295 bytes")


def test_arrays_of_other_things_are_refused_before_they_are_copied(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2), "S3"))
    data = (tmp_path / "a.npy").read_bytes().replace(b"|S3", b"|S999999999")
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(data)
        file.truncate(9 << 30)
    refused(tmp_path / "a.npy", "got bytes7999999992")


def jpeg_tiff(width: int, height: int, strip: bytes, rows: int | None = None) -> bytes:
    """A TIFF of one strip that is a JPEG."""
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 7), (262, 3, 1), (273, 4, 0), (277, 3, 1),
            (278, 4, rows or height), (279, 4, len(strip))]  # fmt: skip
    behind = 8 + 2 + 12 * len(tags) + 4
    entries = b"".join(
        struct.pack("<HHI", code, kind, 1) + struct.pack("<I", behind if code == 273 else value)
        for code, kind, value in tags
    )
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + strip


@pytest.mark.parametrize("side", [64, 65_000])
def test_a_tiff_with_a_huge_jpeg_in_it_is_refused_at_once(tmp_path, side):
    strip = jpeg(pixels(64, 64, 1)[..., 0])
    (tmp_path / "good.tif").write_bytes(jpeg_tiff(64, 64, strip))
    assert staf.kinds.open(tmp_path / "good.tif").shape == (64, 64)
    (tmp_path / "a.tif").write_bytes(jpeg_tiff(side, side, resized(strip, 65_000, 65_000)))
    refused(tmp_path / "a.tif", "holds a JPEG of 65000x65000" if side == 64 else "announces 65000x65000 pixels")
    if side == 64:
        return
    (tmp_path / "a.tif").write_bytes(jpeg_tiff(20_000, 20_000, resized(strip, 20_000, 20_000)))
    refused(tmp_path / "a.tif", r"20000x20000 pixels take [\d,]+ bytes or more")


@pytest.mark.parametrize("compression", ["none", "lzw", "zlib", "packbits", "lzma", "zstd"])
def test_a_tiny_tiff_of_a_huge_picture_is_refused_at_once(tmp_path, compression):
    options = {} if compression == "none" else {"compression": compression}
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((64, 64), np.uint16), rowsperstrip=64, **options)
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+") as file:
        for code in (256, 257, 278):
            file.pages[0].tags[code].overwrite(20_000, dtype=4)
    refused(tmp_path / "a.tif", r"20000x20000 pixels(, 800,000,000 bytes, in a file| take [\d,]+ bytes or more)")


def test_strips_at_one_place_do_not_make_a_file_larger(tmp_path):
    rows = 20_000
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((rows, rows), np.uint8)[:, :64], rowsperstrip=1, compression="zlib")
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+") as file:
        tags = file.pages[0].tags
        tags[256].overwrite(rows, dtype=4)
        tags[273].overwrite([tags[273].value[0]] * rows)
        tags[279].overwrite([65_000] * rows)
    refused(tmp_path / "a.tif", r"20000x20000 pixels take [\d,]+ bytes or more")


@pytest.mark.parametrize("options", [{}, {"rowsperstrip": 8}, {"rowsperstrip": 8, "compression": "lzw"},
                                     {"tile": (16, 16), "compression": "zlib"}])  # fmt: skip
def test_strips_that_are_not_there_are_said(tmp_path, options):
    tifffile.imwrite(tmp_path / "a.tif", pixels(64, 64), photometric="rgb", **options)
    data = (tmp_path / "a.tif").read_bytes()
    (tmp_path / "a.tif").write_bytes(data[:-30])
    refused(tmp_path / "a.tif", r"cut short: 1 of \d+ strips or tiles lie behind the end of the file")


def test_a_huge_tile_of_a_small_picture_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((16, 16), np.uint8), tile=(16, 16), compression="zlib")
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+") as file:
        for code in (322, 323):
            file.pages[0].tags[code].overwrite(20_000, dtype=4)
    refused(tmp_path / "a.tif", "its tiles have 20000x20000 pixels, and the whole image 16x16")


def test_thousands_of_tags_and_pages_are_refused_or_left_alone(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"II*\0\x08\0\0\0\xff\xff" + bytes(12 * 65535))
    refused(tmp_path / "a.tif", "its TIFF directory has 65,535 tags")
    tifffile.imwrite(tmp_path / "b.tif", np.zeros((1100, 2, 2), np.uint8), photometric="minisblack")
    with bounded():
        assert staf.kinds.open(tmp_path / "b.tif").notes == ["the first of 1000 or more pages is used"]
