"""Eigenvalues and eigenfunctions of a kernel on data, and how a target lies along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from staf._typing import Float

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """K = sum_k lambda_k v_k v_k^T: `eigenvalues` (m,) in descending order, `eigenvectors` (m, m) as columns.

    Eigenvalues that are zero up to rounding can be negative; they are kept.
    """

    eigenvalues: Array
    eigenvectors: Array

    @property
    def effective_rank(self) -> float:
        """exp of the entropy of the eigenvalues' shares: m equal eigenvalues give m, one alone gives 1.

        >>> float(round(Spectrum(np.ones(4), np.eye(4)).effective_rank, 6))
        4.0
        """
        positive = self.eigenvalues[self.eigenvalues > 0]
        share = positive / positive.sum()
        return float(np.exp(-(share * np.log(share)).sum()))

    def rank(self, tolerance: float = 1e-6) -> int:
        """How many eigenvalues exceed `tolerance` times the largest."""
        return int((self.eigenvalues > tolerance * self.eigenvalues[0]).sum())

    def eigenfunctions(self, shape: Sequence[int], count: int = 5) -> Array:
        """The first eigenvectors on a grid, (count, *shape), each with its largest entry positive.

        >>> Spectrum(np.ones(4), -np.eye(4)).eigenfunctions((2, 2), 1).tolist()
        [[[1.0, 0.0], [0.0, 0.0]]]
        """
        if int(np.prod(shape)) != len(self.eigenvectors):
            raise ValueError(f"shape must hold {len(self.eigenvectors)} points, got {tuple(shape)}")
        columns = self.eigenvectors[:, :count]
        peaks = np.abs(columns).argmax(0)
        signs = np.sign(columns[peaks, np.arange(columns.shape[1])])
        return (columns * signs).T.reshape(-1, *shape)


def ntk_spectrum(kernel: Float[Tensor, "m m"]) -> Spectrum:
    """Eigenvalues and eigenvectors of a symmetric kernel.

    Computed in float64 on the kernel's device: eigenvalues of these kernels span many decades, and the small ones
    decide what is learnt late. A kernel that was itself made in float32 has a floor near 1e-7 of the largest.

    >>> spectrum = ntk_spectrum(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> spectrum.eigenvalues.round(6).tolist()
    [3.0, 1.0]
    """
    if kernel.dim() != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"kernel must be square, got shape {tuple(kernel.shape)}")
    if not torch.equal(kernel, kernel.T):
        raise ValueError("kernel must equal its transpose; (kernel + kernel.T) / 2 does")
    values, vectors = torch.linalg.eigh(kernel.to(torch.float64))
    return Spectrum(values.flip(0).cpu().numpy(), vectors.flip(1).cpu().numpy().copy())


def alignment(spectrum: Spectrum, target: Tensor | Array) -> Array:
    """The share of the target's energy in the first k eigenvectors, for k = 1, 2, ...: cumulative, ending at 1.

    sum_{j<=k} |v_j . y|^2 / |y|^2, the channels of y, (m,) or (m, c), together. A kernel suits a target where it rises
    early, since residuals along v_k decay at the rate of lambda_k. Subtract the mean (or the network's start) from the
    target first, if the start is what training has to change.

    >>> alignment(Spectrum(np.array([2.0, 1.0]), np.eye(2)), np.array([3.0, 4.0])).tolist()
    [0.36, 1.0]
    """
    values = target.detach().cpu().numpy() if isinstance(target, Tensor) else np.asarray(target)
    values = values.astype(np.float64).reshape(len(values), -1)
    if len(values) != len(spectrum.eigenvectors):
        raise ValueError(f"target must have {len(spectrum.eigenvectors)} rows, as the kernel, got {len(values)}")
    total = float((values**2).sum())
    if total == 0:
        raise ValueError("target must not be zero everywhere: it has no energy to share out")
    energy = ((spectrum.eigenvectors.T @ values) ** 2).sum(1)
    return np.asarray(np.cumsum(energy) / total)


def count_for(cumulative: Array, share: float) -> int | None:
    """How many eigenvectors hold `share` of the energy; None if those kept do not.

    >>> count_for(np.array([0.5, 0.8, 1.0]), 0.75)
    2
    """
    reached = np.flatnonzero(cumulative >= share)
    return int(reached[0]) + 1 if len(reached) else None
