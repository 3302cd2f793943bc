"""Pillow images and tensors as `Image`; the turning that EXIF asks for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from torch import Tensor

from staf.kinds.image.colour import cmyk_to_rgb, fitting_profile
from staf.kinds.image.pixels import CHANNELS, is_image
from staf.kinds.image.signal import Image
from staf.kinds.plain_arrays import plain_array
from staf.signals.errors import SignalError, damage_named

if TYPE_CHECKING:
    import PIL.Image

Layout = Literal["hwc", "chw"]
LAYOUTS = ("hwc", "chw")
ORIENTATION_TAG = 274
# Pixels that are taken over from Pillow at once.
BAND = 1 << 22
KEPT_MODES = ("L", "LA", "RGB", "RGBA")
CONVERTED_MODES = {
    "P": ("RGB", "palette colours are expanded to RGB"),
    "PA": ("RGBA", "palette colours are expanded to RGBA"),
    "La": ("LA", "premultiplied alpha is divided out"),
    "RGBa": ("RGBA", "premultiplied alpha is divided out"),
    "RGBX": ("RGB", "an unused fourth channel is dropped"),
    "YCbCr": ("RGB", "converted from YCbCr to RGB"),
    "HSV": ("RGB", "converted from HSV to RGB"),
}


def image_from(source: object, name: str | None, layout: str | None) -> Image | None:
    """An array, a tensor or a Pillow image as an image; None for anything else, and for arrays of other shapes."""
    name = "image" if name is None else name
    if isinstance(source, Tensor):
        shape = () if source.is_nested else tuple(source.shape)
        shape = (*shape[1:], shape[0]) if len(shape) == 3 and shape[0] in CHANNELS else shape
        fits = is_image(shape, str(source.dtype).removeprefix("torch."))
        return image_from_tensor(source, layout=cast(Layout, layout), name=name) if layout or fits else None
    if isinstance(source, np.ndarray):
        fits = is_image(source.shape, source.dtype.name)
        return image_from_array(source, layout=cast(Layout, layout), name=name) if layout or fits else None
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(source, pillow.Image):
        with damage_named("picture"):
            return image_from_pil(source, name=name)
    return None


def image_from_pil(picture: PIL.Image.Image, *, name: str = "image", source: str | None = None) -> Image:
    """The pixels of a Pillow image, upright, with its colour profile.

    >>> import PIL.Image
    >>> image_from_pil(PIL.Image.new("RGBA", (3, 2))).shape
    (2, 3)
    """
    if 0 in picture.size:
        raise SignalError(f"an image must have at least one pixel, got {picture.width}x{picture.height}")
    pixels, notes = _pil_pixels(picture)
    pixels, turned = upright(pixels, picture.getexif().get(ORIENTATION_TAG, 1))
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    embedded = None if picture.mode == "CMYK" else picture.info.get("icc_profile")
    profile, said = fitting_profile(embedded, channels)
    frames = getattr(picture, "n_frames", 1)
    if frames > 1:
        notes = [f"the first of {frames} frames is used", *notes]
    return Image(pixels, name=name, source=source, profile=profile, notes=[*notes, *turned, *said])


def image_from_tensor(tensor: Tensor, *, layout: Layout | None = None, name: str = "image") -> Image:
    """A tensor (h, w), (h, w, c) or (c, h, w) as an image.

    Channels are the one axis, first or last, whose size is 1 to 4. Where both are, `layout` must say which.

    >>> import torch
    >>> image_from_tensor(torch.zeros(3, 8, 9)).shape, image_from_tensor(torch.zeros(4, 5, 3), layout="hwc").shape
    ((8, 9), (4, 5))
    """
    array = plain_array(tensor, "an image")
    if array.ndim == 3 and layout is None:
        first, last = array.shape[0] in CHANNELS, array.shape[2] in CHANNELS
        if first and last:
            raise SignalError(
                f"a tensor of shape {tuple(tensor.shape)} may have its channels first or last: "
                "pass layout='chw' or layout='hwc'"
            )
        layout = "chw" if first else "hwc"
    return image_from_array(array, layout=layout or "hwc", name=name)


def image_from_array(array: np.ndarray, *, layout: Layout | None = None, name: str = "image") -> Image:
    """A numpy array (h, w) or (h, w, c) as an image; (c, h, w) with `layout="chw"`."""
    if layout is not None and layout not in LAYOUTS:
        raise SignalError(f"layout must be 'hwc' or 'chw', got {layout!r}")
    array = plain_array(array, "an image")
    if layout == "chw" and array.ndim == 3:
        array = array.transpose(1, 2, 0)
    return Image(array, name=name)


def upright(pixels: np.ndarray, orientation: int) -> tuple[np.ndarray, list[str]]:
    """Pixels (h, w, ...) turned as the EXIF `orientation` (1 to 8) asks, and what to tell the user.

    >>> upright(np.array([[1, 2]]), 6)[0].tolist()
    [[1], [2]]
    """
    turns = {
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1),
        6: lambda a: a[::-1].swapaxes(0, 1),
        7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
        8: lambda a: a[:, ::-1].swapaxes(0, 1),
    }
    if orientation not in turns:
        return pixels, []
    return turns[orientation](pixels), [f"turned upright as its EXIF orientation ({orientation}) asks"]


def _pil_pixels(picture: PIL.Image.Image) -> tuple[np.ndarray, list[str]]:
    mode = picture.mode
    if mode == "1":
        return _array(picture), []
    if mode in ("L", "RGB") and "transparency" in picture.info:
        return _array(picture.convert(mode + "A")), ["a transparent colour is made an alpha channel"]
    if mode in KEPT_MODES:
        return _array(picture), []
    if mode == "CMYK":
        return cmyk_to_rgb(picture)
    if mode in CONVERTED_MODES:
        target, sentence = CONVERTED_MODES[mode]
        if mode == "P" and "transparency" in picture.info:
            target, sentence = CONVERTED_MODES["PA"]
        return _array(picture.convert(target)), [sentence]
    if mode.startswith("I;16"):
        return _array(picture).astype(np.uint16), []
    if mode == "I":
        levels = _array(picture)
        if levels.min() < 0 or levels.max() > 65535:
            raise SignalError(f"32-bit integer pixels must lie in [0, 65535], got [{levels.min()}, {levels.max()}]")
        return levels.astype(np.uint16), ["32-bit integers are kept in 16 bits"]
    if mode == "F":
        return _array(picture), []
    raise SignalError(f"a Pillow image must be grey, RGB, RGBA, palette, CMYK, YCbCr or HSV, got mode {mode!r}")


def _array(picture: PIL.Image.Image) -> np.ndarray:
    """The samples of a Pillow image, taken in bands: Pillow makes two copies of what is asked for on the way."""
    width, height = picture.size
    rows = max(1, BAND // width)
    out: np.ndarray | None = None
    for top in range(0, height, rows):
        bottom = min(height, top + rows)
        band = np.asarray(picture if rows >= height else picture.crop((0, top, width, bottom)))
        if rows >= height:
            return band
        if out is None:
            out = np.empty((height, *band.shape[1:]), band.dtype)
        out[top:bottom] = band
    assert out is not None
    return out
