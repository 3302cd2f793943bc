"""Images that are blurred, averaged down and seen only in part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor

from staf._typing import Bool
from staf.operators import AreaDownsampling, Composed, GaussianBlur, LinearOperator, Mask
from staf.planning.restoration import INPAINTING, SUPER_RESOLUTION
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.tasks.inverse import InverseProblem


def picture_operator(
    shape: tuple[int, int], *, blur: float | None = None, factor: int = 1, mask: Bool[Tensor, "h w"] | None = None
) -> LinearOperator:
    """The observation of an image (h, w): blurred, then averaged down, then only where `mask` is true.

    >>> type(picture_operator((8, 8), blur=1.0)).__name__
    'GaussianBlur'
    >>> picture_operator((8, 8), blur=1.0, factor=2).output_shape
    (4, 4)
    """
    chain: list[LinearOperator] = []
    if blur is not None:
        chain.append(GaussianBlur(shape, blur))
    if factor > 1:
        chain.append(AreaDownsampling(shape, factor))
    if mask is not None:
        chain.append(Mask(mask))
    if not chain:
        raise ValueError("one of blur, factor and mask must be given, got none")
    return chain[0] if len(chain) == 1 else Composed(*chain)


def random_mask(shape: tuple[int, ...], keep: float, generator: torch.Generator) -> Bool[Tensor, "*shape"]:
    """True at a random share `keep` of a grid's places.

    >>> random_mask((10, 10), 0.2, torch.Generator().manual_seed(0)).sum().item()
    20
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep must be a share of the pixels in (0, 1], got {keep}")
    total = math.prod(shape)
    mask = torch.zeros(total, dtype=torch.bool)
    mask[torch.randperm(total, generator=generator)[: max(1, round(keep * total))]] = True
    return mask.reshape(shape)


class PictureRestoration(InverseProblem):
    """An inverse problem of an image, fitted with the low frequencies of a restoration.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> photo = Image(np.arange(64, dtype=np.uint8).reshape(8, 8))
    >>> generator = torch.Generator().manual_seed(0)
    >>> half = picture_operator((8, 8), mask=random_mask((8, 8), 0.5, generator))
    >>> PictureRestoration.simulated(photo, half, generator=generator, held_out=0.125).points
    28
    """

    samples = 1

    def __init__(self, signal: Signal, operator: LinearOperator, observation: Tensor, **how: Any) -> None:
        super().__init__(signal, operator, observation, **how)
        share = math.prod(operator.output_shape) / math.prod(operator.input_shape)
        self.observed = self.coarser(math.sqrt(min(1.0, share)))

    @classmethod
    def simulated(cls, truth: Signal, operator: LinearOperator, **how: Any) -> Self:
        """The task for a known image; arguments as for `observing`."""
        return cls.observing(truth, operator, **how)

    @property
    def picture(self) -> Tensor:
        """What is observed as a picture (c, h, w), as a field fits it: pixels that are not seen are 0."""
        last = self.operator.operators[-1] if isinstance(self.operator, Composed) else self.operator
        return last.A_adjoint(self.observation) if isinstance(last, Mask) else self.observation

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this task to the rules of planning, by topic."""
        return (INPAINTING if isinstance(self.operator, Mask) else SUPER_RESOLUTION).rules()
