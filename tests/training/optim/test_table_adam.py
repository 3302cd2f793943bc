"""Adam for tables: torch's own where every gradient is there, and nothing moves without one."""

from __future__ import annotations

import pytest
import torch

from staf.training.optim.table_adam import BETAS, EPSILON, TableAdam


def walk(lazy: bool, steps: int = 5, device: str = "cpu", size: int = 3000):
    """A table after some steps of random gradients, a third of which are zero, and torch's Adam beside it."""
    generator = torch.Generator().manual_seed(0)
    table = torch.nn.Parameter(torch.randn(size, 2, generator=generator).to(device))
    twin = torch.nn.Parameter(table.detach().clone())
    ours = TableAdam([table], lr=torch.tensor(1e-2, device=device), lazy=lazy)
    torchs = torch.optim.Adam([twin], lr=1e-2, betas=BETAS, eps=EPSILON)
    touched = torch.zeros_like(table, dtype=torch.bool)
    for _ in range(steps):
        gradient = torch.randn(size, 2, generator=generator) * 1e-9
        gradient[torch.rand(size, generator=generator) < 1 / 3] = 0
        table.grad, twin.grad = gradient.to(device), gradient.to(device)
        touched |= table.grad != 0
        ours.step()
        torchs.step()
    return table.detach(), twin.detach(), touched


def test_without_lazy_it_is_torchs_adam():
    table, twin, _ = walk(lazy=False)
    torch.testing.assert_close(table, twin, rtol=1e-5, atol=1e-6)


def test_lazy_moves_only_what_has_a_gradient():
    before, _, _ = walk(lazy=True, steps=0)
    after, twin, touched = walk(lazy=True, steps=2)
    assert 0 < int((~touched).sum()) < touched.numel()
    assert torch.equal(after[~touched], before[~touched])
    assert (after[touched] != before[touched]).all()
    assert not torch.equal(after, twin)


def test_one_step_with_every_gradient_is_the_same_either_way():
    tables = []
    for lazy in (False, True):
        table = torch.nn.Parameter(torch.zeros(100, 2))
        table.grad = torch.linspace(-1e-7, 2e-7, 200).reshape(100, 2)
        TableAdam([table], lr=0.1, lazy=lazy).step()
        tables.append(table.detach())
    assert torch.equal(*tables)
    assert tables[0].abs().min() > 0.09


def test_complex_parameters_are_refused():
    with pytest.raises(ValueError, match="tables are real"):
        TableAdam([torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))])


@pytest.mark.gpu
def test_the_kernel_equals_the_formula():
    for lazy in (False, True):
        found, _, _ = walk(lazy, device="cuda", size=3001)
        expected, _, _ = walk(lazy, size=3001)
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-6)
