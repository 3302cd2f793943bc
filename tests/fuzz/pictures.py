"""Damaged pictures and clips."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds import Image
from tests.fuzz.mutation import with_png_sums
from tests.fuzz.target import Target
from tests.kinds.pictures import pixels, srgb_profile
from tests.kinds.video.clips import clip


def _images(name: str, suffix: str, extra: Callable[[Path], list[bytes]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        seeds = []
        for channels in (1, 2, 3, 4):
            if suffix == ".jpg" and channels in (2, 4):
                continue
            for dtype in (np.uint8, np.uint16, np.float32)[: 1 if suffix in (".jpg", ".webp") else 3]:
                image = Image(pixels(9, 13, channels, dtype), profile=srgb_profile() if channels == 3 else None)
                seeds.append(image.save(folder / f"{channels}{np.dtype(dtype).name}{suffix}").read_bytes())
        return Target(name, f"a{suffix}", [*seeds, *extra(folder)], staf.open, **options)

    return make


def _more_pngs(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    exif = PIL.Image.Exif()
    exif[274] = 6
    variants: list[tuple[Any, dict[str, Any]]] = [
        (picture.quantize(16), {}), (picture.quantize(16), {"transparency": 3}), (picture.convert("1"), {}),
        (picture.convert("L"), {"transparency": 7}), (picture, {"exif": exif}),
        (picture, {"save_all": True, "append_images": [picture.rotate(180)]}),
    ]  # fmt: skip
    return [_saved(image, "PNG", **options) for image, options in variants]


def _saved(picture: Any, format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return buffer.getvalue()


def _more_jpegs(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    exif = PIL.Image.Exif()
    exif[274] = 8
    return [
        _saved(picture, "JPEG", progressive=True), _saved(picture, "JPEG", restart_marker_rows=1, exif=exif),
        _saved(picture.convert("CMYK"), "JPEG"), _saved(picture, "JPEG", icc_profile=srgb_profile()),
        _saved(picture.convert("L"), "JPEG", quality=5, optimize=True),
    ]  # fmt: skip


def _more_webps(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    turned = [picture.rotate(180)]
    return [_saved(picture, "WEBP", quality=40), _saved(picture, "WEBP", save_all=True, append_images=turned)]


def _more_tiffs(folder: Path) -> list[bytes]:
    import PIL.Image
    import tifffile

    seeds = []
    array = pixels(20, 33)
    ways: list[dict[str, Any]] = [
        {}, {"compression": "lzw"}, {"compression": "zstd", "predictor": True}, {"tile": (16, 16)},
        {"compression": "packbits", "rowsperstrip": 3}, {"bigtiff": True}, {"byteorder": ">"}, {"compression": "lzma"},
        {"compression": "jpeg"}, {"compression": "jpeg", "tile": (16, 16)},
        {"extratags": [(274, 3, 1, 6, True)], "iccprofile": srgb_profile()},
    ]  # fmt: skip
    for options in ways:
        tifffile.imwrite(folder / "a.tif", array, photometric="rgb", **options)
        seeds.append((folder / "a.tif").read_bytes())
    tifffile.imwrite(folder / "a.tif", array[..., 0] % 16, bitspersample=4)
    seeds.append((folder / "a.tif").read_bytes())
    tifffile.imwrite(folder / "a.tif", np.repeat(array[..., :1], 4, 2), photometric="separated")
    seeds.append((folder / "a.tif").read_bytes())
    planes = np.ascontiguousarray(array.transpose(2, 0, 1))
    tifffile.imwrite(folder / "a.tif", planes, photometric="rgb", planarconfig="separate")
    seeds.append((folder / "a.tif").read_bytes())
    seeds.append(_saved(PIL.Image.fromarray(array).quantize(16), "TIFF"))
    seeds.append(_saved(PIL.Image.fromarray(array[..., 0] > 99), "TIFF"))
    return seeds


def _more_npys(folder: Path) -> list[bytes]:
    seeds = []
    for array in (np.zeros((3, 4), bool), np.ones((3, 4, 1), ">f8"), np.asfortranarray(pixels(4, 5)), np.arange(5)):
        buffer = io.BytesIO()
        np.save(buffer, array)
        seeds.append(buffer.getvalue())
    return seeds


def _films(name: str, suffix: str, make: Callable[[Path], list[bytes]], **options: Any) -> Callable[[Path], Target]:
    return lambda folder: Target(name, f"a{suffix}", make(folder), staf.open, **options)


def _gifs(folder: Path) -> list[bytes]:
    import PIL.Image

    frames = [PIL.Image.fromarray(frame) for frame in clip(3, 8, 10).array]
    clear = [frame.quantize(8) for frame in frames]
    return [
        clip(4, 8, 10, rate=10).save(folder / "a.gif").read_bytes(),
        _saved(clear[0], "GIF", save_all=True, append_images=clear[1:], transparency=2, disposal=2, duration=20),
        _saved(frames[0], "GIF", interlace=1),
    ]  # fmt: skip


def _encoded(format: str, codec: str) -> Callable[[Path], list[bytes]]:
    def make(folder: Path) -> list[bytes]:
        import av

        seeds = []
        for layout in ("yuv420p", "gray") if codec in ("libx264", "ffv1") else ("yuv420p",):
            buffer = io.BytesIO()
            with av.open(buffer, "w", format=format) as container:
                stream: Any = container.add_stream(codec, rate=10)
                stream.width, stream.height, stream.pix_fmt = 16, 16, layout
                for frame in clip(3, 16, 16).array:
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
                container.mux(stream.encode())
            seeds.append(buffer.getvalue())
        return seeds

    return make


MAKERS: dict[str, Callable[[Path], Target]] = {
    "png": _images("png", ".png", _more_pngs, magic=b"\x89PNG\r\n\x1a\n", repair=with_png_sums),
    "jpeg": _images("jpeg", ".jpg", _more_jpegs, magic=b"\xff\xd8\xff"),
    "tiff": _images("tiff", ".tif", _more_tiffs),
    "webp": _images("webp", ".webp", _more_webps, magic=b"RIFF"),
    "npy": _images("npy", ".npy", _more_npys, magic=b"\x93NUMPY"),
    "gif": _films("gif", ".gif", _gifs, magic=b"GIF89a"),
    "mp4": _films("mp4", ".mp4", _encoded("mp4", "libx264")),
    "matroska": _films("matroska", ".mkv", _encoded("matroska", "ffv1"), magic=b"\x1aE\xdf\xa3"),
    "avi": _films("avi", ".avi", _encoded("avi", "mpeg4"), magic=b"RIFF"),
}
