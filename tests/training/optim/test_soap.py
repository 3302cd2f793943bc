from __future__ import annotations

import pytest
import torch

from staf.training.optim.soap import BETAS, COVARIANCE_BETA, EPSILON, LARGEST, Soap, turn


def covariance(n, generator, dtype=torch.float64, batch=()):
    root = torch.randn(*batch, n, n, generator=generator, dtype=dtype)
    return root @ root.mH


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_turning_converges_to_the_eigenvectors(dtype):
    generator = torch.Generator().manual_seed(0)
    matrix = covariance(12, generator, dtype, batch=(3,))
    basis = torch.eye(12, dtype=dtype).repeat(3, 1, 1)
    for _ in range(200):
        basis = turn(matrix, basis)
    rotated = basis.mH @ matrix @ basis
    diagonal = rotated.diagonal(dim1=-2, dim2=-1).real
    off = rotated - torch.diag_embed(rotated.diagonal(dim1=-2, dim2=-1))
    assert off.abs().max() < 1e-8 * diagonal.max()
    torch.testing.assert_close(diagonal.sort(-1).values, torch.linalg.eigvalsh(matrix))
    torch.testing.assert_close(basis.mH @ basis, torch.eye(12, dtype=dtype).expand(3, 12, 12))


def test_turning_stays_orthogonal_in_float32_over_many_changing_covariances():
    generator = torch.Generator().manual_seed(1)
    basis = torch.eye(16)
    running = torch.zeros(16, 16)
    for step in range(300):
        running.lerp_(covariance(16, generator, torch.float32) * 10.0 ** (-step / 10), 0.05)
        basis = turn(running, basis)
    assert (basis.T @ basis - torch.eye(16)).abs().max() < 1e-4


@pytest.mark.parametrize("matrix", [torch.zeros(4, 4), torch.eye(4), 1e-30 * torch.ones(4, 4)])
def test_a_covariance_without_direction_leaves_a_finite_orthogonal_basis(matrix):
    basis = torch.eye(4)
    for _ in range(5):
        basis = turn(matrix, basis)
    assert basis.isfinite().all()
    torch.testing.assert_close(basis.T @ basis, torch.eye(4))


def test_a_diagonal_covariance_leaves_the_basis():
    matrix = torch.diag(torch.tensor([3.0, 1.0, 0.5]))
    torch.testing.assert_close(turn(matrix, torch.eye(3)), torch.eye(3))


def test_step_is_adam_in_the_rotated_basis():
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(6, 9, generator=generator, dtype=torch.float64)
    gradients = [torch.randn(6, 9, generator=generator, dtype=torch.float64) for _ in range(9)]
    weight = torch.nn.Parameter(start.clone())
    soap = Soap([{"params": [weight]}], lr=torch.tensor(0.01))
    expected, mean, square = start.clone(), torch.zeros(6, 9).double(), torch.zeros(6, 9).double()
    left, right = torch.zeros(6, 6).double(), torch.zeros(9, 9).double()
    left_basis, right_basis = torch.eye(6).double(), torch.eye(9).double()
    for count, gradient in enumerate(gradients, start=1):
        weight.grad = gradient.clone()
        soap.step()
        left = COVARIANCE_BETA * left + (1 - COVARIANCE_BETA) * gradient @ gradient.T
        right = COVARIANCE_BETA * right + (1 - COVARIANCE_BETA) * gradient.T @ gradient
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * (left_basis.T @ gradient @ right_basis).square()
        step = (left_basis.T @ mean @ right_basis) / (1 - BETAS[0] ** count)
        step = step / ((square / (1 - BETAS[1] ** count)).sqrt() + EPSILON)
        expected = expected - 0.01 * left_basis @ step @ right_basis.T
        if count % 4 == 1:
            left_basis, right_basis = turn(left, left_basis), turn(right, right_basis)
    torch.testing.assert_close(weight.detach(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_batch_of_matrices_equals_each_alone(dtype):
    generator = torch.Generator().manual_seed(3)
    start = torch.randn(4, 5, 3, generator=generator, dtype=dtype)
    together = torch.nn.Parameter(start.clone())
    alone = [torch.nn.Parameter(matrix.clone()) for matrix in start]
    optimisers = [Soap([{"params": [together]}], lr=0.1), *(Soap([{"params": [one]}], lr=0.1) for one in alone)]
    for _ in range(6):
        gradient = torch.randn(4, 5, 3, generator=generator, dtype=dtype)
        together.grad = gradient
        for one, part in zip(alone, gradient, strict=True):
            one.grad = part
        for optimiser in optimisers:
            optimiser.step()
    for one, expected in zip(together, alone, strict=True):
        torch.testing.assert_close(one, expected)


def test_an_ill_conditioned_matrix_regression_is_solved_where_adam_stalls():
    generator = torch.Generator().manual_seed(4)
    basis = torch.linalg.qr(torch.randn(16, 16, generator=generator, dtype=torch.float64)).Q
    inputs = torch.randn(200, 16, generator=generator, dtype=torch.float64) * torch.logspace(0, -2, 16).double()
    inputs = inputs @ basis.T
    target = inputs @ torch.randn(16, 8, generator=generator, dtype=torch.float64)

    def final(make):
        weight = torch.nn.Parameter(torch.zeros(16, 8, dtype=torch.float64))
        optimiser = make(weight)
        for step in range(300):
            loss = (inputs @ weight - target).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.param_groups[0]["lr"].fill_(0.05 * (1 - step / 300))
            optimiser.step()
        return loss.item()

    adam = final(lambda weight: torch.optim.Adam([{"params": [weight], "lr": torch.tensor(0.05)}], lr=0.05))
    soap = final(lambda weight: Soap([{"params": [weight], "lr": torch.tensor(0.05)}]))
    assert soap < adam / 10


def test_a_long_side_keeps_its_axes_and_vectors_are_refused():
    long = torch.nn.Parameter(torch.zeros(2, LARGEST + 1))
    soap = Soap([{"params": [long]}])
    assert "left" in soap.state[long]
    assert "right" not in soap.state[long]
    long.grad = torch.ones_like(long)
    soap.step()
    assert (long != 0).all()
    with pytest.raises(ValueError, match="vectors to Adam"):
        Soap([{"params": [torch.nn.Parameter(torch.zeros(3))]}])


@pytest.mark.gpu
def test_the_kernels_take_the_steps_of_plain_torch(monkeypatch):
    from staf.training.optim import soap

    def trained(fused):
        generator = torch.Generator().manual_seed(5)
        shapes = [(65, 2), (65, 65), (65, 65), (65, 65), (3, 65), (16, 8)]
        parameters = [torch.nn.Parameter(torch.randn(shape, generator=generator).cuda()) for shape in shapes]
        rates = torch.tensor([0.01, 0.02], device="cuda")
        groups = [
            {"params": parameters[:1] + parameters[4:], "lr": rates[0]},
            {"params": parameters[1:4], "lr": rates[1]},
        ]
        with monkeypatch.context() as patch:
            if not fused:
                patch.setattr(soap, "_has_kernels", lambda tensor: False)
            optimiser = Soap(groups)
            for _ in range(8):
                for parameter in parameters:
                    parameter.grad = torch.randn(parameter.shape, generator=generator).cuda()
                optimiser.step()
        return parameters

    for mine, expected in zip(trained(True), trained(False), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-4)
