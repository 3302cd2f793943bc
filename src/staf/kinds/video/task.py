"""FrameReconstruction: fit the frames of a video, which stay bytes, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.kinds.scene.photos import MOST_BYTES, PhotoPool
from staf.kinds.video.frames import gathered
from staf.kinds.video.measures import decibels
from staf.kinds.video.signal import Video
from staf.ops.squared_error import weighted_squared_error
from staf.signals import grid
from staf.signals.grid import Convention
from staf.training.jittered_batches import JitteredBatches
from staf.training.task import Batch, Predict

if TYPE_CHECKING:
    from staf.training.state import State

# Steps after which, where not all frames fit on the device, one of them makes room for another.
TURN_EVERY = 4
# The longest sides of what networks that read their target, and the fingerprint of a checkpoint, see of a video.
SEEN = (16, 128, 128)


class FrameReconstruction:
    """Minimise the mean squared error at the pixels of all frames.

    Frames stay bytes; a batch makes its numbers and its coordinates from its index. Up to `most_bytes` of frames are on
    the device. More of them take turns: every few steps one frame makes room for the next, so that batches are drawn
    from a set of frames that moves through the clip, and memory does not grow with its length. `frame_psnr` is that of
    each frame in the last `evaluate`.

    >>> task = FrameReconstruction(Video(np.zeros((4, 5, 6, 3), np.uint8)))
    >>> task.points, task.batch(torch.tensor([0, 119])).coordinates.shape
    (120, torch.Size([2, 3]))
    """

    in_features = 3

    def __init__(
        self, signal: Video, convention: Convention = "centres", *, most_bytes: int = MOST_BYTES, seed: int = 0
    ) -> None:
        self.signal = signal
        self.convention: Convention = convention
        self.out_features = signal.out_features
        array = signal.array if signal.array.flags.writeable else np.array(signal.array)
        self.frames = PhotoPool(torch.from_numpy(np.asarray(array)), most_bytes=most_bytes, seed=seed)
        self.axes = [grid.axis(size, convention) for size in signal.shape]
        self.frame_psnr: np.ndarray | None = None
        self.reconstruction: Video | None = None

    @property
    def points(self) -> int:
        """Pixels of the frames that are on the device."""
        _, height, width = self.signal.shape
        return len(self.frames) * height * width

    @property
    def observation(self) -> Tensor:
        """Some frames at fewer pixels, (c, t, h, w)."""
        steps = (max(1, -(-size // most)) for size, most in zip(self.signal.shape, SEEN, strict=True))
        seen = self.signal.array[tuple(slice(None, None, step) for step in steps)]
        values = torch.from_numpy(seen.astype(np.float32)).movedim(-1, 0) / 255
        return values.to(self.axes[0].device)

    def batches(self, size: int, generator: torch.Generator) -> JitteredBatches:
        """Batches that take a pixel from each of `size` equal runs, so that all frames have as many."""
        return JitteredBatches(self.points, size, generator)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index = torch.arange(self.points, device=self.axes[0].device)
        _, height, width = self.signal.shape
        slot, inside = index // (height * width), index % (height * width)
        rows = (self.frames.view[slot], inside // width, inside % width)
        points = torch.stack([axis[row] for axis, row in zip(self.axes, rows, strict=True)], dim=-1)
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(points, self.frames.at(slot, inside).float() / 255, weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        return weighted_squared_error(field(batch.coordinates), batch.target, batch.weight)

    def callbacks(self) -> list[Callable[[State], None]]:
        """What a trainer calls between steps: frames are exchanged, if not all fit on the device."""
        return [TakeTurns(self)] if self.frames.rotating else []

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR over all pixels of all frames, and that of the worst frame: one fresh pass, clamped, peak 1."""
        squares: list[float] = []
        shown = gathered(self._predicted(predict, squares))
        self.reconstruction = self.signal.with_frames(shown) if np.isfinite(squares).all() else None
        self.frame_psnr = np.array([decibels(square) for square in squares])
        return {"psnr": decibels(float(np.mean(squares))), "worst_frame_psnr": float(self.frame_psnr.min())}

    def _predicted(self, predict: Predict, squares: list[float]) -> Iterator[np.ndarray]:
        """Each frame as bytes; its mean square error before the rounding is added to `squares`."""
        count, height, width = self.signal.shape
        device = self.axes[0].device
        rows = torch.cartesian_prod(self.axes[1], self.axes[2])
        for number in range(count):
            points = torch.cat([self.axes[0][number].expand(len(rows), 1), rows], dim=1)
            values = predict(points).float().clamp(0, 1)
            target = torch.from_numpy(np.array(self.signal.array[number])).to(device).reshape(len(rows), -1)
            squares.append(float((values - target.float() / 255).square().double().mean()))
            bytes_of = (values.nan_to_num() * 255).round().to("cpu", torch.uint8)
            yield bytes_of.reshape(height, width, -1).numpy()

    def metadata(self) -> Document:
        return {"task": "reconstruction", "convention": self.convention, "signal": self.signal.metadata()}

    def to(self, device: torch.device | str) -> Self:
        self.frames = self.frames.to(device)
        self.axes = [axis.to(device) for axis in self.axes]
        return self


class TakeTurns:
    """A callback that exchanges frames on the device."""

    every = TURN_EVERY

    def __init__(self, task: FrameReconstruction) -> None:
        self.task = task
        self._next = self.every

    def __call__(self, state: State) -> None:
        if state.step >= self._next:
            self._next = state.step + self.every
            self.task.frames.rotate()

    def tensors(self) -> dict[str, Tensor]:
        return {"next": torch.tensor(self._next), "turns": torch.tensor(self.task.frames.turns)}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.task.frames.turn_to(int(tensors["turns"]))
        self._next = int(tensors["next"])
