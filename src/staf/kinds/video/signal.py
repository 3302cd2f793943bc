"""Video: frames of the same size at a constant rate, as values on a grid of (t, y, x)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from staf._documents import Document, Entries, Record
from staf.kinds.plain_arrays import plain_array
from staf.kinds.video.frames import gathered
from staf.kinds.video.measures import frame_psnr
from staf.kinds.video.reading import WHOLE, Part
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.host_copy import Arriving, to_host
from staf.signals.rendering import OutputGrid, Predict, output_grid, render_bands, window_grid

if TYPE_CHECKING:
    from staf.kinds.image.signal import Image
    from staf.kinds.video.view import VideoView
    from staf.planning.situation import Rule
    from staf.training.task import Task

RATE = 25.0
FASTEST = 100_000.0
SLOWEST = 1e-6
Crop = tuple[float, float, float, float]


class Video(Signal):
    """Frames (t, h, w) of the same size, grey or RGB, bytes or floats in [0, 1], with `rate` frames per second.

    A field maps (t, y, x), each in [-1, 1] over the whole video, to values in [0, 1], so it has a picture at every
    moment. The array can be memory-mapped.

    Args:
        array: (t, h, w) or (t, h, w, 1 or 3).
        rate: frames per second.
        name: its name.

    >>> clip = Video(np.zeros((50, 4, 6, 3), np.uint8), rate=25, name="clip")
    >>> clip
    Video('clip', 50 frames of 6x4, RGB, 2 s at 25 frames a second)
    >>> clip.shape, clip.seconds, clip.coordinate_units()
    ((50, 4, 6), 2.0, (1.0, 2.0, 3.0))
    """

    kind = "video"
    in_features = 3

    def __init__(
        self,
        array: ArrayLike,
        *,
        rate: float = RATE,
        name: str = "video",
        source: str | None = None,
        notes: Sequence[str] = (),
        part: Part = WHOLE,
    ) -> None:
        frames = checked_frames(plain_array(array, "frames"))
        self._array: np.ndarray | None = frames
        self._shape = (frames.shape[0], frames.shape[1], frames.shape[2])
        self.out_features = frames.shape[3]
        self.dtype = frames.dtype
        self.rate, self.name, self.source, self.notes, self.part = _rate(rate), name, source, list(notes), part

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        start: float = 0.0,
        stop: float = math.inf,
        every: int = 1,
        size: tuple[int, int] | None = None,
        max_pixels: int | None = None,
    ) -> Video:
        """Read the seconds [start, stop) of a file, every n-th frame, resized to `size` (width, height).

        Frames before `start` are skipped with the file's index, not decoded. If the frames need more than 256 MiB, they
        are kept in a temporary file.
        """
        from staf.kinds.opening import MAX_PIXELS
        from staf.kinds.video.opening import open_part

        limit = MAX_PIXELS if max_pixels is None else max_pixels
        return open_part(Path(path), Part(float(start), float(stop), every, size), limit)

    def __repr__(self) -> str:
        t, h, w = self.shape
        colours = "RGB" if self.out_features == 3 else "grey"
        about = f"{t:,} frames of {w}x{h}, {colours}, {self.seconds:.4g} s at {self.rate:.4g} frames a second"
        return f"Video({self.name!r}, {about}{', no frames' if self._array is None else ''})"

    @property
    def array(self) -> np.ndarray:
        """The frames, (t, h, w, c), as they came."""
        if self._array is None:
            raise NoSamples(f"video {self.name!r} was rebuilt from metadata and holds no frames: it can only render")
        return self._array

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return as_array(np.asarray(self.array), dtype, copy)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self._shape

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.shape[0] / self.rate

    @property
    def nbytes(self) -> int:
        return self.points * self.out_features

    @property
    def value_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self) -> Tensor:
        flat = self.array.reshape(-1, self.out_features)
        values = torch.from_numpy(np.array(flat, np.float32, order="C"))
        return values / 255 if self.dtype.kind == "u" else values

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        """Seconds, rows and columns that one unit of each coordinate spans."""
        frames, rows, columns = super().coordinate_units(convention)
        return frames / self.rate, rows, columns

    def frame(self, number: int) -> Image:
        """One frame as a picture; negative numbers count from the end."""
        from staf.kinds.image.signal import Image

        count = self.shape[0]
        if not -count <= number < count:
            raise SignalError(f"number must lie in [{-count}, {count}), got {number}")
        return Image(np.array(self.array[number]), name=f"{self.name}-{number % count}")

    def psnr_per_frame(self, other: Video) -> np.ndarray:
        """The PSNR of each frame of another video of this size against this one's, peak 1, (t,).

        >>> black = Video(np.zeros((2, 3, 3), np.uint8))
        >>> black.psnr_per_frame(Video(np.full((2, 3, 3), 51, np.uint8))).round(2).tolist()
        [13.98, 13.98]
        """
        if other.shape != self.shape or other.out_features != self.out_features:
            raise SignalError(f"other must be a video of {self.shape}, got {other.shape}")
        return frame_psnr(other.array, self.array)

    def encode(self, values: Tensor) -> Arriving:
        """Convert values (..., c) to samples of this video's type: clamped to [0, 1], bytes rounded to the nearest."""
        clamped = values.detach().to(torch.float32).clamp(0, 1)
        numbers = to_host(torch.isfinite(clamped).all())
        samples = to_host((clamped * 255).round_().to(torch.uint8) if self.dtype.kind == "u" else clamped)

        def arrived() -> np.ndarray:
            if not numbers():
                raise SignalError(f"values for video {self.name!r} must be numbers, got NaN")
            return samples()

        return arrived

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Video:
        whole = (*(self.shape if shape is None else shape), self.out_features)
        if values.ndim != 2 or tuple(values.shape) != (math.prod(whole[:-1]), whole[-1]):
            raise SignalError(f"values must have shape {(math.prod(whole[:-1]), whole[-1])}, got {tuple(values.shape)}")
        return self.with_frames(self.encode(values)().reshape(whole))

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Video:
        whole = (*(self.shape if shape is None else shape), self.out_features)
        frames = values.detach().to("cpu", torch.float32).reshape(whole).numpy()
        result = self.empty(whole[:-1])
        result._array, result.dtype = frames, frames.dtype
        return result

    def with_frames(self, array: np.ndarray, rate: float | None = None) -> Video:
        """Other frames (t, h, w, c) with this video's name, at the same rate or another."""
        return Video(array, rate=self.rate if rate is None else rate, name=self.name)

    def metadata(self) -> Document:
        return {
            "kind": self.kind,
            "name": self.name,
            "shape": list(self.shape),
            "channels": self.out_features,
            "dtype": self.dtype.name,
            "rate": self.rate,
            "notes": list(self.notes),
        }

    @classmethod
    def from_metadata(cls, metadata: Entries) -> Video:
        """The empty video that `metadata` describes: everything but frames.

        >>> Video.from_metadata(Video(np.zeros((8, 4, 6), np.uint8)).metadata())
        Video('video', 8 frames of 6x4, grey, 0.32 s at 25 frames a second, no frames)
        """
        try:
            record = Record(metadata)
            t, h, w = record.grid("shape", range(3, 4))
            channels, rate = record.whole("channels", least=1, most=3), _rate(record.number("rate"))
            dtype, name, notes = record.text("dtype"), record.text("name"), record.texts("notes")
        except (TypeError, ValueError) as error:
            raise SignalError(f"metadata of a video is incomplete or malformed: {error}") from error
        if channels == 2 or dtype not in ("uint8", "float32"):
            raise SignalError(f"metadata describes no video: {channels} channels of {dtype!r}")
        video = cls.__new__(cls)
        video._array, video._shape, video.out_features, video.dtype = None, (t, h, w), channels, np.dtype(dtype)
        video.rate, video.name, video.source, video.notes, video.part = rate, name, None, notes, WHOLE
        return video

    def output_grid(
        self,
        *,
        rate: float | None = None,
        speed: float = 1.0,
        start: float = 0.0,
        stop: float | None = None,
        at: float | None = None,
        size: tuple[int, int] | None = None,
        scale: float | None = None,
        crop: Crop | None = None,
        convention: Convention = "centres",
    ) -> OutputGrid:
        """The grid on which `render` evaluates a field.

        >>> clip = Video(np.zeros((50, 4, 6), np.uint8), rate=25)
        >>> clip.output_grid(rate=60).shape, clip.output_grid(speed=0.5, stop=1.0, scale=2).shape
        ((120, 4, 6), (50, 8, 12))
        """
        t, h, w = self.shape
        picture = output_grid((h, w), crop=crop, size=size, scale=scale, convention=convention)
        if at is not None:
            if not 0 <= at < self.seconds:
                raise SignalError(f"at must lie in the clip's [0, {self.seconds:g}) seconds, got {at:g}")
            number = at * self.rate
            place = (2 * number + 1) / t - 1 if convention == "centres" else 2 * number / max(1, t - 1) - 1
            return OutputGrid((torch.tensor([min(place, 1.0)]), *picture.axes))
        stop = self.seconds if stop is None else min(stop, self.seconds)
        if not 0 <= start < stop:
            raise SignalError(
                f"start and stop must lie in the clip's {self.seconds:g} seconds, got {start:g} and {stop:g}"
            )
        if not 0 < speed < 1e6:
            raise SignalError(f"speed must be a positive number, got {speed}")
        window = (start * self.rate, min(stop * self.rate, float(t)))
        count = round((stop - start) * (self.rate if rate is None else _rate(rate)) / speed)
        time = window_grid((t,), (window,), (max(1, count),), None, convention)
        return OutputGrid((*time.axes, *picture.axes))

    def render(
        self,
        predict: Predict,
        *,
        rate: float | None = None,
        speed: float = 1.0,
        start: float = 0.0,
        stop: float | None = None,
        at: float | None = None,
        size: tuple[int, int] | None = None,
        scale: float | None = None,
        crop: Crop | None = None,
        convention: Convention = "centres",
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Video:
        """The field `predict`, (n, 3) to (n, c), as a video.

        `rate` is the number of frames per second of the result, `speed` its playback speed (0.25 is four times slower),
        `start` and `stop` are seconds of the video, or `at` is the moment of a single frame; `size` (width, height),
        `scale` and `crop` (left, top, right, bottom) are as for images.

        >>> clip = Video(np.zeros((2, 1, 1), np.uint8), rate=2)
        >>> clip.render(lambda x: (x[:, :1] + 1) / 2, rate=4).array.ravel().tolist()
        [32, 96, 159, 223]
        """
        where: Document = {"rate": rate, "speed": speed, "start": start, "stop": stop, "at": at}
        where |= {"size": size, "scale": scale, "crop": crop, "convention": convention}
        frames = self.rendered_frames(predict, where, chunk=chunk, device=device)
        return self.with_frames(gathered(frames), rate)

    def rendered_frames(
        self,
        predict: Predict,
        where: Entries,
        *,
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Iterator[np.ndarray]:
        """The frames (h, w, c) of a rendering, one after another, for the arguments `where` of `output_grid`."""
        output = self.output_grid(**where)
        for band in render_bands(predict, output, encode=self.encode, chunk=chunk, device=device):
            yield from band

    def render_file(
        self,
        predict: Predict,
        path: str | os.PathLike[str],
        *,
        device: torch.device | str | None = None,
        **where: Any,
    ) -> Path:
        """As `render(...).save(path)`, frame by frame, so that memory does not grow with the length."""
        from staf.kinds.video.films import write_film

        rate = where.get("rate")
        count = self.output_grid(**where).shape[0]
        frames = self.as_bytes(self.rendered_frames(predict, where, device=device))
        return write_film(path, frames, self.rate if rate is None else float(rate), count)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write MP4 (H.264), GIF or NPY by the suffix, frame by frame, completely or not at all."""
        from staf.kinds.video.films import write_film

        return write_film(path, self.as_bytes(iter(self.array)), self.rate, self.shape[0])

    def as_bytes(self, frames: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """Frames of this video's type as bytes."""
        if self.dtype.kind == "u":
            return frames
        return (np.rint(255 * np.clip(frame, 0, 1)).astype(np.uint8) for frame in frames)

    def task(self, convention: Convention = "centres") -> Task:
        from staf.kinds.video.task import FrameReconstruction
        from staf.tasks import Reconstruction

        return FrameReconstruction(self, convention) if self.dtype.kind == "u" else Reconstruction(self, convention)

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this kind of signal to the rules of planning, by topic."""
        from staf.kinds.video.plan import RULES

        return RULES

    @property
    def view(self) -> VideoView:
        from staf.kinds.video.view import VideoView

        return VideoView(self)


def video_from(source: object, name: str | None, layout: str | None) -> Video | None:
    """Arrays and tensors (t, h, w) or (t, h, w, c), for kind="video", at 25 frames per second."""
    if not isinstance(source, (np.ndarray, Tensor)):
        return None
    return Video(plain_array(source, "frames"), name="video" if name is None else name)


def checked_frames(array: np.ndarray) -> np.ndarray:
    """Frames (t, h, w, c) of bytes or of floats in [0, 1]."""
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[3] not in (1, 3) or 0 in array.shape:
        raise SignalError(f"frames must have shape (t, h, w) or (t, h, w, 1 or 3), got {array.shape}")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        raise SignalError(f"frames must be uint8, or floats in [0, 1], got {array.dtype}")
    low, high = float(array.min()), float(array.max())
    if not (low >= 0 and high <= 1):
        raise SignalError(f"frames of floats must lie in [0, 1], got {low:g} to {high:g}")
    return array.astype(np.float32)


def _rate(rate: float) -> float:
    if not SLOWEST <= rate <= FASTEST:
        raise SignalError(f"rate must be frames per second, {SLOWEST:g} to {FASTEST:g}, got {rate}")
    return float(rate)
