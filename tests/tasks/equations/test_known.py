from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from staf.tasks.equations import Burgers, Equation, Heat, Helmholtz, Poisson, Wave

PI = math.pi


def bump(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(2 * PI * x[:, :1]) * torch.sin(PI * x[:, 1:])


def mode(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(PI * x[:, 1])


def cole_hopf(x: torch.Tensor, viscosity: float = 0.1) -> torch.Tensor:
    """The exact solution from -sin(pi x), by Gauss-Hermite quadrature."""
    z, weight = np.polynomial.hermite.hermgauss(80)
    t, y = x[:, :1].numpy(), x[:, 1:].numpy()
    places = y - z * np.sqrt(4 * viscosity * t)
    factor = weight * np.exp(-np.cos(PI * places) / (2 * PI * viscosity))
    return torch.from_numpy(-(np.sin(PI * places) * factor).sum(1) / factor.sum(1))[:, None]


CASES = {
    "poisson": (lambda **how: Poisson(lambda x: -5 * PI**2 * bump(x), **how), bump),
    "helmholtz": (
        lambda **how: Helmholtz(5.0, 0.0, lambda x: torch.sin(4 * x[:, :1]) * torch.cos(3 * x[:, 1:]), **how),
        lambda x: torch.sin(4 * x[:, :1]) * torch.cos(3 * x[:, 1:]),
    ),
    "heat": (
        lambda **how: Heat(0.1, mode, **how),
        lambda x: torch.exp(-0.1 * PI**2 * x[:, :1]) * torch.sin(PI * x[:, 1:]),
    ),
    "wave": (
        lambda **how: Wave(2.0, mode, **how),
        lambda x: torch.cos(2 * PI * x[:, :1]) * torch.sin(PI * x[:, 1:]),
    ),
    "burgers": (lambda **how: Burgers(0.1, **how), cole_hopf),
}


@pytest.mark.parametrize("name", CASES)
def test_residual_conditions_and_reference_agree_with_the_exact_solution(name):
    make, exact = CASES[name]
    task: Equation = make(points=64, dtype=torch.float64)
    x = task.at(task.batch(None).coordinates[0])
    known = exact(x)
    count = 24 if name != "burgers" else 64
    found = task.reference(count)(x)
    assert float((found - known).norm() / known.norm()) < 1e-7
    if name == "burgers":
        # Its exact solution is a quadrature in NumPy, which cannot be differentiated.
        return
    # The exact solution has no loss, another one has.
    assert float(task.loss(lambda c: exact(task.at(c)), task.batch(None)).detach()) < 1e-20
    assert float(task.loss(lambda c: exact(task.at(c)) + c[:, 1:] ** 3, task.batch(None)).detach()) > 1e-3


def test_the_residual_of_burgers_is_that_of_a_travelling_front():
    """u = 1 - tanh((x - t) / (2 nu)) solves the equation."""
    viscosity = 0.2
    task = Burgers(viscosity, points=64, dtype=torch.float64)

    def front(c: torch.Tensor) -> torch.Tensor:
        x = task.at(c)
        return 1 - torch.tanh((x[:, 1:] - x[:, :1]) / (2 * viscosity))

    assert task.residual_of(front, 64) < 1e-12
    assert task.residual_of(lambda c: 1.1 * front(c), 64) > 1e-3


def test_wrong_constants_are_named():
    for make, name in (
        (lambda: Heat(0.0, 0.0), "diffusivity"),
        (lambda: Wave(-1.0, 0.0), "speed"),
        (lambda: Burgers(math.nan), "viscosity"),
        (lambda: Helmholtz(-2.0), "wavenumber"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be a"):
            make()
    with pytest.raises(ValueError, match="source must be finite"):
        Poisson(lambda x: 1 / (x[:, 0] * 0))
    with pytest.raises(ValueError, match="boxes of 1 or 2 axes, got 3"):
        Poisson(1.0, box=[(0, 1)] * 3, points=8).reference()
    with pytest.raises(ValueError, match="time and x, got 3 axes"):
        Burgers(0.1, box=[(0, 1)] * 3)
