from __future__ import annotations

import pytest
import torch

from staf.training.optim.muon import Muon, orthogonalise


def test_orthogonalise_moves_singular_values_towards_one_and_keeps_directions():
    matrix = torch.randn(3, 12, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    result = orthogonalise(matrix)
    inner = u.mT @ result @ vh.mT
    diagonal = inner.diagonal(dim1=-2, dim2=-1)
    assert (diagonal > 0.5).all()
    assert (diagonal < 1.3).all()
    assert (inner - torch.diag_embed(diagonal)).abs().max() < 1e-12


def test_tall_matrices_are_the_transpose_of_wide_ones():
    matrix = torch.randn(5, 9, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(orthogonalise(matrix.T), orthogonalise(matrix).T)


def test_step_follows_the_published_formula():
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(6, 6, generator=generator)
    gradients = [torch.randn(6, 6, generator=generator) for _ in range(3)]
    weight = torch.nn.Parameter(start.clone())
    muon = Muon([weight], lr=torch.tensor(0.01))
    expected, buffer = start.clone(), torch.zeros(6, 6)
    for gradient in gradients:
        weight.grad = gradient.clone()
        muon.step()
        buffer = 0.95 * buffer + gradient
        x = gradient + 0.95 * buffer
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        expected = expected - 0.01 * 0.2 * 6**0.5 * x
    torch.testing.assert_close(weight.detach(), expected)


def test_a_batch_of_matrices_equals_each_alone():
    generator = torch.Generator().manual_seed(3)
    start, gradient = (torch.randn(4, 5, 7, generator=generator) for _ in range(2))
    together = torch.nn.Parameter(start.clone())
    together.grad = gradient
    Muon([together], lr=0.1).step()
    for i in range(4):
        alone = torch.nn.Parameter(start[i].clone())
        alone.grad = gradient[i]
        Muon([alone], lr=0.1).step()
        torch.testing.assert_close(together[i], alone)


def test_vectors_and_complex_weights_are_refused():
    with pytest.raises(ValueError, match="real matrices"):
        Muon([torch.nn.Parameter(torch.zeros(3))])
    with pytest.raises(ValueError, match="complex64"):
        Muon([torch.nn.Parameter(torch.zeros(3, 3, dtype=torch.complex64))])
