"""Image: an array with its bit depth and colour profile, as values on a grid."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries
from staf.kinds.image.measures import image_measures, measures_of_each
from staf.kinds.image.metadata import parsed_metadata
from staf.kinds.image.pixels import CHANNELS, checked_pixels, in_eight_bits, value_range_of
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.host_copy import Arriving, to_host
from staf.signals.rendering import Crop, Predict, output_grid, render_bands, render_grid
from staf.tasks import Reconstruction

if TYPE_CHECKING:
    import PIL.Image

    from staf.kinds.image.large.task import LargeReconstruction
    from staf.kinds.image.view import ImageView

# Pixels that are rounded at once: rounding needs floats of the size of what is rounded.
ROUNDED_PIXELS = 2**16
# From here on samples stay integers while they are fitted.
LARGE_PIXELS = 2**22


class Image(Signal):
    """An image of 1 to 4 channels, in its original bit depth.

    Integer images are fitted as v / (2^bits - 1), in [0, 1]. Floating-point images are fitted unchanged; their
    `value_range` is the smallest interval that contains [0, 1] and the data. Alpha is fitted like any channel.

    `array` has shape (h, w) or (h, w, c) and type uint8, uint16, a float type, or bool (read as 0 and 255). `profile`
    is the embedded ICC profile: values are fitted in its colour space, and it is written when the image is saved.
    `notes` are sentences about changes during reading.

    >>> image = Image(np.array([[0, 255], [51, 102]], dtype=np.uint8), name="tiny")
    >>> image
    Image('tiny', 2x2 grey, uint8)
    >>> image.values().squeeze(-1).tolist() == [0.0, 1.0, torch.tensor(0.2).item(), torch.tensor(0.4).item()]
    True
    >>> image.from_values(image.values()).array[..., 0].tolist()
    [[0, 255], [51, 102]]
    """

    kind = "image"
    in_features = 2

    def __init__(
        self,
        array: np.ndarray,
        *,
        name: str = "image",
        source: str | None = None,
        profile: bytes | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        pixels, said = checked_pixels(array)
        self._array: np.ndarray | None = pixels
        self._shape: tuple[int, int] = (pixels.shape[0], pixels.shape[1])
        self.out_features: int = pixels.shape[2]
        self.dtype = pixels.dtype
        self._value_range = value_range_of(pixels)
        self.name = name
        self.source = source
        self.profile = profile
        self.notes = [*notes, *said]
        if self.out_features in (2, 4):
            self.notes.append(f"alpha is fitted as channel {self.out_features}, like a colour")

    def __repr__(self) -> str:
        empty = ", no pixels" if self._array is None else ""
        return f"Image({self.name!r}, {self.width}x{self.height} {CHANNELS[self.out_features]}, {self.dtype}{empty})"

    @property
    def array(self) -> np.ndarray:
        """The pixels, (h, w, c), as they came."""
        if self._array is None:
            raise NoSamples(f"image {self.name!r} was rebuilt from metadata and holds no pixels: it can only render")
        return self._array

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return as_array(self.array, dtype, copy)

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def nbytes(self) -> int:
        return self.points * self.out_features * self.dtype.itemsize

    @property
    def value_range(self) -> tuple[float, float]:
        return self._value_range

    @property
    def height(self) -> int:
        return self.shape[0]

    @property
    def width(self) -> int:
        return self.shape[1]

    @property
    def bit_depth(self) -> int:
        """Bits of one sample: 8, 16, or 32 for floating point."""
        return 8 * self.dtype.itemsize

    @property
    def data_range(self) -> float:
        """The width of `value_range`, which is the peak of the PSNR (1.0 for every integer image)."""
        return self.value_range[1] - self.value_range[0]

    def values(self) -> Tensor:
        """What a field fits: float32 (h*w, c) in C order; [0, 1] for integer images."""
        flat = self.array.reshape(-1, self.out_features)
        if self.dtype.kind == "f":
            return torch.from_numpy(flat.copy())
        return torch.from_numpy(flat.astype(np.float32) / np.float32(np.iinfo(self.dtype).max))

    def encode(self, values: Tensor) -> Arriving:
        """Convert values (..., c) to this image's type: clamped to `value_range`, integers rounded to the nearest.

        This is done on the device of the values; calling the result waits for the samples and returns their array.

        >>> Image(np.zeros((1, 1), np.uint8)).encode(torch.tensor([[0.5], [2.0]]))().tolist()
        [[128], [255]]
        """
        low, high = self.value_range
        clamped = values.detach().to(torch.float32).clamp(low, high)
        numbers = to_host(torch.isfinite(clamped).all())
        if self.dtype.kind != "f":
            clamped = (clamped * float(np.iinfo(self.dtype).max)).round_().to(getattr(torch, self.dtype.name))
        samples = to_host(clamped)

        def arrived() -> np.ndarray:
            if not numbers():
                raise SignalError(f"values for image {self.name!r} must be numbers, got NaN")
            return samples()

        return arrived

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Image:
        """The image whose `values()` are `values` (n, c), clamped and rounded to this image's bit depth."""
        height, width = self.shape if shape is None else shape
        if values.ndim != 2 or tuple(values.shape) != (height * width, self.out_features):
            expected = (height * width, self.out_features)
            raise SignalError(
                f"values must have shape {expected} for {width}x{height} pixels, got {tuple(values.shape)}"
            )
        pixels = np.empty((height * width, self.out_features), self.dtype)
        for start in range(0, len(pixels), ROUNDED_PIXELS):
            pixels[start : start + ROUNDED_PIXELS] = self.encode(values[start : start + ROUNDED_PIXELS])()
        return self.with_pixels(pixels.reshape(height, width, self.out_features))

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Image:
        height, width = self.shape if shape is None else shape
        pixels = values.detach().to("cpu", torch.float32).reshape(height, width, self.out_features)
        return Image(pixels.contiguous().numpy(), name=self.name, profile=self.profile)

    def with_pixels(self, array: np.ndarray) -> Image:
        """An image of other pixels with the same name, profile and value range."""
        image = Image(array, name=self.name, profile=self.profile)
        image._value_range = self.value_range
        return image

    def metadata(self) -> Document:
        """JSON-able data from which `from_metadata` builds an empty image that renders like this one."""
        return {
            "kind": self.kind,
            "name": self.name,
            "shape": list(self.shape),
            "channels": self.out_features,
            "dtype": self.dtype.name,
            "value_range": list(self.value_range),
            "profile": None if self.profile is None else base64.b64encode(self.profile).decode("ascii"),
            "notes": list(self.notes),
        }

    @classmethod
    def from_metadata(cls, metadata: Entries) -> Image:
        """The empty image that `metadata` describes: everything but pixels.

        >>> empty = Image.from_metadata(Image(np.zeros((4, 6, 3), np.uint16)).metadata())
        >>> empty.shape, empty.from_values(torch.rand(6, 3), shape=(2, 3))
        ((4, 6), Image('image', 3x2 RGB, uint16))
        """
        about = parsed_metadata(metadata)
        image = cls.__new__(cls)
        image._array = None
        image._shape, image.out_features, image.dtype = about.shape, about.channels, about.dtype
        image._value_range, image.name, image.source = about.value_range, about.name, None
        image.profile, image.notes = about.profile, about.notes
        return image

    def render(
        self,
        predict: Predict,
        *,
        crop: Crop | None = None,
        size: tuple[int, int] | None = None,
        scale: float | None = None,
        convention: Convention = "centres",
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Image:
        """The field `predict`, coordinates (n, 2) to values (n, c), as an image with this one's depth and profile.

        `crop` is (left, top, right, bottom) in source pixels, `size` the output's (width, height), `scale` its pixels
        per source pixel; `rendering.output_grid` says how they align. `predict` gets at most `chunk` points, on
        `device`.

        >>> small = Image(np.zeros((2, 2), np.uint8))
        >>> small.render(lambda x: (x[:, 1:] + 1) / 2, scale=2).array[0, :, 0].tolist()
        [32, 96, 159, 223]
        """
        output = output_grid(self.shape, crop=crop, size=size, scale=scale, convention=convention)
        return self.with_pixels(render_grid(predict, output, encode=self.encode, chunk=chunk, device=device))

    def render_file(
        self,
        predict: Predict,
        path: str | os.PathLike[str],
        *,
        crop: Crop | None = None,
        size: tuple[int, int] | None = None,
        scale: float | None = None,
        convention: Convention = "centres",
        pyramid: bool = False,
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Path:
        """As `render(...).save(path)`, but PNG, TIFF and NPY are written in bands, so they can be larger than memory.

        `pyramid` writes a tiled TIFF with smaller copies of the image, which viewers of large images open quickly.
        """
        from staf.kinds.image.large.pyramid import write_pyramid
        from staf.kinds.image.writing import STREAMED, check_format, format_of, write_bands

        output = output_grid(self.shape, crop=crop, size=size, scale=scale, convention=convention)
        rows, columns = output.shape
        format = format_of(path)
        check_format(self, format, (rows, columns))
        if format in STREAMED or pyramid:
            bands = render_bands(predict, output, encode=self.encode, chunk=chunk, device=device)
            if pyramid:
                return write_pyramid(self, bands, (rows, columns), path)
            return write_bands(self, bands, (rows, columns), path)
        whole = render_grid(predict, output, encode=self.encode, chunk=chunk, device=device)
        return self.with_pixels(whole).save(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the image in the format of the suffix (PNG, JPEG, TIFF, WebP, NPY), completely or not at all.

        PNG and TIFF keep 8 and 16 bits, TIFF and NPY floats too. A float image in [0, 1] becomes a 16-bit PNG. JPEG
        (quality 95, no chroma subsampling) and WebP (lossless) have 8 bits; images with alpha are an error for JPEG.
        The profile is written to all formats except NPY.
        """
        from staf.kinds.image.writing import write_image

        return write_image(self, path)

    def task(self, convention: Convention = "centres") -> Reconstruction | LargeReconstruction:
        """The reconstruction of all pixels; from 4 megapixels on, they remain integers and are measured in bands."""
        if self.points < LARGE_PIXELS:
            return Reconstruction(self, convention)
        from staf.kinds.image.large.task import LargeReconstruction

        return LargeReconstruction(self, convention)

    def measures(self, prediction: Tensor, target: Tensor) -> dict[str, float]:
        """PSNR and SSIM."""
        return image_measures(prediction, target, self.shape)

    def measures_of_each(self, predictions: Tensor, targets: Tensor) -> list[dict[str, float]] | None:
        """`measures` of several images of this size, (b, n, c) each; None if one by one is as fast."""
        return measures_of_each(predictions, targets, self.shape)

    @property
    def view(self) -> ImageView:
        from staf.kinds.image.view import ImageView

        return ImageView(self)

    def as_uint8(self) -> np.ndarray:
        """The pixels in 8 bits for display, (h, w, c): 16 bits are rounded, floats are scaled from `value_range`."""
        return in_eight_bits(self.array, self.value_range)

    def to_pil(self) -> PIL.Image.Image:
        """A Pillow image in 8 bits, the only depth that Pillow supports for colour, with the profile."""
        import PIL.Image

        pixels = self.as_uint8()
        image = PIL.Image.fromarray(pixels[..., 0] if self.out_features == 1 else pixels)
        if self.profile is not None:
            image.info["icc_profile"] = self.profile
        return image

    def _repr_png_(self) -> bytes | None:
        """A PNG of at most 1024 pixels a side, which notebooks show."""
        import io

        if self._array is None:
            return None
        image = self.to_pil()
        image.thumbnail((1024, 1024))
        buffer = io.BytesIO()
        image.save(buffer, "PNG", icc_profile=self.profile)
        return buffer.getvalue()
