"""Reconstruction of an image of many millions of pixels: its samples stay integers, wherever they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from staf.kinds.image.large.measures import Pass, measure
from staf.kinds.image.large.tiles import TilePool, as_signed, as_values
from staf.kinds.image.signal import Image
from staf.ops.squared_error import weighted_squared_error
from staf.signals.grid import Convention
from staf.signals.value_transform import value_transform
from staf.training.jittered_batches import JitteredBatches
from staf.training.task import Batch, Predict

# What the samples may take on a GPU; beyond it they are a pool of tiles that rotates.
DEVICE_BYTES = 2**32
# The longest side of what networks that read their target, and the fingerprint of a checkpoint, see of the image.
SEEN_SIDE = 512
# SSIM is measured up to this many pixels, by type of device: a processor takes seconds for each million.
SIMILAR_PIXELS = {"cpu": 2**22, "cuda": 2**26}


class LargeReconstruction:
    """Minimise the mean squared error at the pixels of an image, as `Reconstruction`, for images of any size.

    On the CPU the image's own array is read, which may be a memory map. On a GPU the samples are one integer tensor up
    to `device_bytes`, and a `TilePool` of that size beyond. Batches are drawn on the device. `evaluate` makes one pass
    in bands; `reconstruction` and `error_map` are of the last one.

    >>> task = LargeReconstruction(Image(np.zeros((20, 30, 3), np.uint8)))
    >>> task.points, task.batch(torch.tensor([0, 599])).target.shape
    (600, torch.Size([2, 3]))
    """

    def __init__(self, signal: Image, convention: Convention = "centres", device_bytes: int = DEVICE_BYTES) -> None:
        self.signal = signal
        self.convention: Convention = convention
        self.in_features, self.out_features = signal.in_features, signal.out_features
        self.transform = value_transform(signal)
        self.device_bytes = device_bytes
        self.device = torch.device("cpu")
        self.reconstruction: Image | None = None
        self.error_map: np.ndarray | None = None
        self._array = signal.array.reshape(-1, signal.out_features)
        self._values: Tensor | None = None
        self._pool: TilePool | None = None

    @property
    def points(self) -> int:
        """Pixels that batches index: of the image, or of the tiles in the pool."""
        return self._pool.points if self._pool is not None else len(self._array)

    @property
    def observation(self) -> Tensor:
        """Every k-th pixel of every k-th row (c, h', w'), at most 512 a side."""
        step = max(1, -(-max(self.signal.shape) // SEEN_SIDE))
        seen = np.array(self.signal.array[::step, ::step])
        return self._fitted(torch.from_numpy(as_signed(seen))).movedim(-1, 0)

    def batches(self, size: int, generator: torch.Generator) -> JitteredBatches:
        """Batches that take a point from each of `size` equal runs; a pool rotates as they are drawn."""
        return JitteredBatches(self.points, size, generator, None if self._pool is None else self._pool.advance)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index = torch.arange(self.points, device=self.device)
        width = self.signal.width
        if self._pool is not None:
            rows, columns, samples = self._pool.pick(index)
        else:
            rows, columns = index // width, index % width
            if self._values is not None:
                samples = self._values[index]
            else:
                samples = torch.from_numpy(as_signed(self._array[index.numpy()]))
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(self._coordinates(rows, columns), self._fitted(samples), weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        return weighted_squared_error(field(batch.coordinates), batch.target, batch.weight)

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR of one fresh pass over all pixels, clamped, peak 1; and SSIM, where that takes little time."""
        found = self.measure(predict)
        self.error_map = found.error
        self.reconstruction = self.signal.with_pixels(found.pixels) if found.finite else None
        return {"psnr": found.psnr} if found.ssim is None else {"psnr": found.psnr, "ssim": found.ssim}

    def measure(self, predict: Predict) -> Pass:
        """One pass of a field, whose outputs are fitted numbers, over the image."""
        return measure(
            lambda x: self.transform.values(predict(x)),
            self.signal.array,
            self.signal.encode,
            value_range=self.signal.value_range,
            convention=self.convention,
            device=self.device,
            similarity=len(self._array) <= SIMILAR_PIXELS.get(self.device.type, SIMILAR_PIXELS["cpu"]),
        )

    def metadata(self) -> dict[str, Any]:
        return {"task": "reconstruction", "convention": self.convention, "signal": self.signal.metadata()}

    def to(self, device: torch.device | str) -> Self:
        self.device = torch.device(device)
        self._values = self._pool = None
        if self.device.type != "cpu":
            if self._array.nbytes <= self.device_bytes:
                self._values = _copied(self._array, self.device)
            else:
                self._pool = TilePool(self.signal.array, self.device_bytes, self.device)
        return self

    def _coordinates(self, rows: Tensor, columns: Tensor) -> Tensor:
        # In float64, as `signals.grid` has them.
        axes = []
        for index, size in ((rows, self.signal.height), (columns, self.signal.width)):
            if self.convention == "centres":
                axes.append((2 * index.double() + 1) / size - 1)
            else:
                axes.append(2 * index.double() / max(1, size - 1) - (0 if size == 1 else 1))
        return torch.stack(axes, dim=-1).float()

    def _fitted(self, samples: Tensor) -> Tensor:
        return self.transform.fitted(as_values(samples, self.signal.dtype))


def _copied(array: np.ndarray, device: torch.device) -> Tensor:
    """The samples on a device, copied in parts, so that a memory map is never in memory whole."""
    signed = as_signed(array)
    out = torch.empty(array.shape, dtype=getattr(torch, signed.dtype.name), device=device)
    step = max(1, 2**26 // max(1, array[0].nbytes))
    for start in range(0, len(array), step):
        out[start : start + step] = torch.from_numpy(np.array(signed[start : start + step]))
    return out
