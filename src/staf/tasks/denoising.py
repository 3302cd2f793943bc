"""Denoising: fit a noisy signal, and stop where samples that were not fitted say so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.operators import PhotonNoise
from staf.planning.restoration import DENOISING_RULES
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.signals.grid import Convention, coordinates
from staf.signals.value_transform import value_transform
from staf.tasks.held_out import drawn
from staf.tasks.whole_grid import reconstructed, whole_grid
from staf.training.history import decibels
from staf.training.task import Batch, Predict


class Denoising:
    """Minimise |f(x_i) - y_i|^2 over the samples of a noisy signal, except a random share that is held out.

    The error at the held-out samples is, except for the variance of the noise, an unbiased estimate of the error
    against the clean signal, so that `callbacks.KeepBestHeldOut` finds where to stop without seeing it. `truth` is only
    used to measure. `reconstruction` is the signal that the last `evaluate` measured.

    Args:
        observed: the noisy signal.
        truth: the clean signal, if it is known.
        held_out: the share of samples that is held out, in [0, 1).
        generator: draws these samples.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> image = Image(np.full((10, 10), 128, np.uint8))
    >>> task = Denoising.simulated(image, PhotonNoise(10), generator=torch.Generator().manual_seed(0), held_out=0.1)
    >>> task.points, len(task.held_out_index)
    (90, 10)
    """

    def __init__(
        self,
        observed: Signal,
        *,
        generator: torch.Generator,
        truth: Signal | None = None,
        held_out: float = 0.05,
        convention: Convention = "centres",
    ) -> None:
        if truth is not None and (truth.shape, truth.out_features) != (observed.shape, observed.out_features):
            raise ValueError(
                f"truth must have the observed {_size(observed)} pixels and {observed.out_features} "
                f"channels, got {_size(truth)} and {truth.out_features}"
            )
        self.observed, self.truth, self.convention = observed, truth, convention
        self.signal: Signal = observed if truth is None else truth
        self.in_features, self.out_features = observed.in_features, observed.out_features
        self.transform = value_transform(self.signal)
        self.target = self.transform.fitted(observed.values())
        self.coordinates = coordinates(observed.shape, convention)
        self.held_out_index, self.train_index = drawn(observed.shape, held_out, generator)
        self.reconstruction: Signal | None = None

    @classmethod
    def simulated(
        cls,
        truth: Signal,
        noise: PhotonNoise,
        *,
        generator: torch.Generator,
        held_out: float = 0.05,
        convention: Convention = "centres",
    ) -> Denoising:
        """The task of a clean signal seen through `noise`; the observation is not clipped."""
        transform = value_transform(truth)
        seen = transform.values(noise(transform.fitted(truth.values()), generator))
        observed = truth.with_floats(seen)
        return cls(observed, generator=generator, truth=truth, held_out=held_out, convention=convention)

    @property
    def points(self) -> int:
        return len(self.train_index)

    @property
    def observation(self) -> Tensor:
        return self.target.T.reshape(self.out_features, *self.observed.shape)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        chosen = self.train_index if index is None else self.train_index[index]
        if weight is None:
            weight = torch.full((len(chosen),), 1.0 / len(chosen), device=chosen.device)
        return Batch(self.coordinates[chosen], self.target[chosen], weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        error = (field(batch.coordinates) - batch.target).square().mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def held_out_error(self, predict: Predict) -> float:
        """Mean squared error at the samples that training does not see."""
        if not len(self.held_out_index):
            raise ValueError("held_out must be positive to measure an error there, got 0")
        seen = self.transform.clamp(predict(self.coordinates[self.held_out_index])).detach()
        return float((seen.double() - self.target[self.held_out_index]).square().mean())

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR and SSIM against the truth; without one, the PSNR against the noisy pixels."""
        prediction = self.predict(predict).cpu()
        self.reconstruction = reconstructed(self.signal, self.transform, prediction)
        if self.truth is not None:
            return self.truth.measures(prediction, self.transform.fitted(self.truth.values()))
        return {"psnr": decibels(float((prediction.double() - self.target.cpu()).square().mean()))}

    def psnr(self, predict: Predict) -> float:
        """PSNR against the truth alone."""
        assert self.truth is not None
        target = self.transform.fitted(self.truth.values())
        return decibels(float((self.predict(predict).cpu().double() - target).square().mean()))

    def predict(self, predict: Predict) -> Tensor:
        """The field at every sample, (n, c), clamped."""
        return whole_grid(predict, self.signal.shape, self.transform, self.convention, self.target.device)

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this task to the rules of planning, by topic."""
        return DENOISING_RULES

    def metadata(self) -> Document:
        """Also which samples are held out, as a hash: a fit is resumed only with the same ones."""
        held = self.held_out_index.cpu().numpy()
        return {
            "task": "denoising",
            "convention": self.convention,
            "held_out": {"pixels": len(held), "sha256": hashlib.sha256(held.tobytes()).hexdigest()},
            "signal": self.signal.metadata(),
        }

    def to(self, device: torch.device | str) -> Self:
        for name in ("target", "coordinates", "held_out_index", "train_index"):
            setattr(self, name, getattr(self, name).to(device))
        return self


def _size(signal: Signal) -> str:
    return "x".join(str(size) for size in signal.shape)
