"""Eigenvalues, eigenfunctions and alignment."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.analysis import alignment, ntk_spectrum
from staf.analysis.spectrum import count_for


def kernel(n: int = 30, rank: int = 12) -> torch.Tensor:
    factor = torch.randn(n, rank, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    product = factor @ factor.T
    return (product + product.T) / 2


def test_the_spectrum_rebuilds_the_kernel() -> None:
    spectrum = ntk_spectrum(kernel())
    assert (np.diff(spectrum.eigenvalues) <= 0).all()
    vectors = spectrum.eigenvectors
    assert np.allclose(vectors * spectrum.eigenvalues @ vectors.T, kernel().numpy(), atol=1e-10)
    assert spectrum.rank() == 12
    assert 1 < spectrum.effective_rank < 12


def test_float32_kernels_are_decomposed_in_float64() -> None:
    spectrum = ntk_spectrum(kernel().float())
    assert spectrum.eigenvalues.dtype == np.float64
    exact = np.linalg.eigvalsh(kernel().float().double().numpy())[::-1]
    assert np.allclose(spectrum.eigenvalues, exact, atol=1e-12 * exact[0])


def test_eigenfunctions_lie_on_the_grid_with_a_positive_peak() -> None:
    spectrum = ntk_spectrum(kernel())
    maps = spectrum.eigenfunctions((5, 6), 3)
    assert maps.shape == (3, 5, 6)
    for image, vector in zip(maps, spectrum.eigenvectors.T, strict=False):
        flat = image.ravel()
        assert np.allclose(flat, vector) or np.allclose(flat, -vector)
        assert flat[np.abs(flat).argmax()] > 0
    with pytest.raises(ValueError, match="shape must hold 30 points"):
        spectrum.eigenfunctions((5, 5))


def test_alignment_is_the_share_of_energy() -> None:
    spectrum = ntk_spectrum(kernel())
    second = torch.from_numpy(spectrum.eigenvectors[:, 1].copy())
    assert np.allclose(alignment(spectrum, second)[:3], [0, 1, 1])
    target = torch.randn(30, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    cumulative = alignment(spectrum, target)
    expected = np.square(spectrum.eigenvectors[:, :7].T @ target.numpy()).sum() / np.square(target.numpy()).sum()
    assert cumulative[6] == pytest.approx(expected)
    assert cumulative[-1] == pytest.approx(1)
    assert count_for(cumulative, 2.0) is None


def test_refusals() -> None:
    spectrum = ntk_spectrum(kernel())
    with pytest.raises(ValueError, match=r"must be square, got shape \(3, 4\)"):
        ntk_spectrum(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="must equal its transpose"):
        ntk_spectrum(torch.tensor([[1.0, 2.0], [3.0, 1.0]]))
    with pytest.raises(ValueError, match="target must have 30 rows"):
        alignment(spectrum, torch.ones(4))
    with pytest.raises(ValueError, match="zero everywhere"):
        alignment(spectrum, torch.zeros(30))
