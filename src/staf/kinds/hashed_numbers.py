"""Numbers that differ in every step and can be captured in a graph: hashes of an index and a count."""

from __future__ import annotations

from torch import Tensor


def hashed_uniform(index: Tensor, draw: Tensor, salts: Tensor) -> Tensor:
    """A number in [0, 1) for each entry of `index` (n,) and each of `salts` (k,), other ones for every `draw`: (n, k).

    >>> import torch
    >>> numbers = hashed_uniform(torch.arange(10_000), torch.tensor(3), torch.arange(2) * 277803737)
    >>> numbers.shape, round(float(numbers.mean()), 2), bool((numbers < 1).all())
    (torch.Size([10000, 2]), 0.5, True)
    """
    mixed = ((index * 747796405)[:, None] + (draw * 2891336453 + salts)) & 0xFFFFFFFF
    for _ in range(2):
        mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
    return ((mixed >> 16) ^ mixed).float() / 2**32 * (1 - 2**-20)
