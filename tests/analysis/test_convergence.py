"""What the kernel predicts against what training does."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from staf.analysis import lazy_convergence
from staf.analysis.convergence import decay
from staf.nn import siren, staf, wire

DOUBLE = torch.float64


def line(n: int = 40) -> Tensor:
    return torch.linspace(-1, 1, n, dtype=DOUBLE)[:, None]


def make(factory: Callable[..., nn.Module], channels: int = 1, width: int = 128, **options: float) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    return factory(1, channels, width=width, depth=2, generator=generator, dtype=DOUBLE, **options)


@pytest.mark.parametrize(
    ("field", "channels"),
    [
        (make(siren, omega0=10), 1),
        (make(siren, 2, omega0=10), 2),
        (make(staf, omega0=10, hidden_omega0=5), 1),
        (make(wire, width=64, omega0=5, hidden_omega0=5, sigma0=2), 1),
    ],
    ids=["siren", "siren, two channels", "staf", "wire"],
)
def test_small_residuals_decay_as_predicted(field: nn.Module, channels: int) -> None:
    """A target 0.01 sin(4x) away from the start: the kernel moves by under 1%, and every loss of 200 steps agrees to
    2% with the prediction, though the loss falls by factors of thousands for the first three."""
    x = line()
    target = field(x).detach() + 0.01 * torch.sin(4 * x).expand(-1, channels)
    found = lazy_convergence(field, x, target, steps=200)
    assert found.kernel_change < 0.01
    assert np.abs(found.observed / found.predicted - 1).max() < 0.02
    assert found.observed[-1] < found.observed[0]
    early = found.mode_predicted > 0.05
    assert np.abs(found.mode_observed - found.mode_predicted)[early].max() < 0.02


def test_prediction_improves_as_training_gets_lazier() -> None:
    field, x = make(siren, omega0=10), line()
    errors, changes = [], []
    for size in (0.3, 0.03, 0.003):
        found = lazy_convergence(field, x, field(x).detach() + size * torch.sin(4 * x), steps=100)
        errors.append(np.abs(found.observed / found.predicted - 1).max())
        changes.append(found.kernel_change)
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert changes == sorted(changes, reverse=True)


def test_small_steps_follow_the_flow() -> None:
    field, x = make(staf, omega0=10, hidden_omega0=5), line()
    target = field(x).detach() + 0.01 * torch.sin(4 * x)
    rough = lazy_convergence(field, x, target, steps=40)
    fine = lazy_convergence(field, x, target, rate=rough.rate / 50, steps=100)
    assert np.abs(fine.observed / fine.flow - 1).max() < 0.01
    assert np.abs(rough.observed / rough.flow - 1).max() > 0.05


def test_roles_train_only_their_parameters() -> None:
    field, x = make(staf, omega0=10, hidden_omega0=5), line(20)
    target = field(x).detach() + 0.003 * torch.sin(4 * x)
    before = {name: value.clone() for name, value in field.state_dict().items()}
    part = lazy_convergence(field, x, target, roles="activations", steps=50)
    assert np.abs(part.observed / part.predicted - 1).max() < 0.02
    assert (part.eigenvalues > 1e-9 * part.eigenvalues[0]).sum() <= 30
    assert all(torch.equal(before[name], value) for name, value in field.state_dict().items())
    json.dumps(part.to_plain())


def test_decay() -> None:
    values = np.array([4.0, 1.0, 0.0])
    assert np.allclose(decay(values, 0.5, 8, 3)[:, 3], [0.5**3, 0.875**3, 1])
    assert np.allclose(decay(values, 0.5, 8, 3, flow=True)[:, 3], np.exp(-3 * values / 8))
