from __future__ import annotations

import itertools
import math

import pytest
import torch

import staf
from staf.ops.backend import backend
from staf.tasks.equations import Burgers, Equation, Poisson, initial, initial_rate, levenberg_marquardt
from staf.tasks.equations.newton import System


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def swing(points: int = 32, **how: object) -> Equation:
    return Equation(
        [(0, 2)],
        lambda u, x: u.d(0, 0) + 9 * u.value,
        [initial(0.0), initial_rate(3.0, weight=0.5)],
        solution=lambda x: torch.sin(3 * x),
        points=points,
        scale=9.0,
        dtype=torch.float64,
        **how,
    )


@pytest.mark.parametrize("model", ["siren", "staf"])
def test_the_residuals_have_the_loss_as_their_squares_and_the_jacobian_as_their_slope(model, monkeypatch):
    problem = Burgers(0.1, points=8, dtype=torch.float64)
    field = getattr(staf, model)(2, 1, width=5, depth=2, generator=seeded()).double()
    system = System(problem, field)
    place = system.place()
    with backend("reference"):
        residuals = system.residuals(place)
        loss = float(problem.loss(field, problem.batch(None)).detach())
        assert float(residuals @ residuals) == pytest.approx(loss, rel=1e-10)
        whole = system.jacobian(place)
        assert whole.shape == (len(residuals), len(place)) == (24, len(place))
        along = torch.randn(len(place), generator=seeded(1), dtype=torch.float64)
        slope = (system.residuals(place + 1e-6 * along) - system.residuals(place - 1e-6 * along)) / 2e-6
        torch.testing.assert_close(whole @ along, slope, rtol=1e-4, atol=1e-5)
        monkeypatch.setattr("staf.tasks.equations.newton.COPIED", 3 * len(place))
        torch.testing.assert_close(system.jacobian(place), whole)


def test_a_fit_ends_far_deeper_than_its_optimiser():
    problem = swing(points=96, newton_steps=30)
    field = staf.siren(1, 1, width=12, depth=2, omega0=3.0, generator=seeded(1)).double()
    recipe = staf.recipes.full_batch(steps=60).replace(rate=1e-2, matrix_rate=1e-2, precision="fp32")
    fit = staf.fit(problem, field=field, recipe=recipe, progress=False)
    assert math.sqrt(fit.history.loss[-1]) > 1e-2
    assert fit.metrics["relative_error"] < 1e-3
    assert fit.metrics["residual"] < 1e-3
    assert "steps of Levenberg-Marquardt took the loss from" in fit.notes[0]


def test_more_parameters_than_residuals_and_a_system_of_two_columns():
    problem = Equation(
        [(0, 1)],
        lambda u, x: torch.cat([u.d(0) + u.value, u.d(0, 0) - u.value], 1),
        [initial(1.0)],
        solution=lambda x: torch.exp(-x),
        points=12,
        dtype=torch.float64,
    )
    field = staf.siren(1, 1, width=16, depth=2, omega0=2.0, generator=seeded()).double()
    told: list[int] = []
    losses = levenberg_marquardt(problem, field, 30, lambda step, loss: told.append(step))
    assert told == list(range(1, len(losses)))
    assert all(after < before for before, after in itertools.pairwise(losses))
    assert math.sqrt(losses[-1]) < 1e-2
    assert problem.relative_error(field) < 1e-2


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="newton_steps must be at least 0, and 0 unless dtype"):
        Poisson(1.0, points=8, newton_steps=3)
    with pytest.raises(ValueError, match="needs real numbers in float64"):
        System(swing(), staf.siren(1, 1, width=4, depth=2))
    with pytest.raises(ValueError, match="needs real numbers in float64"):
        System(swing(), staf.wire(1, 1, width=4, depth=2).double())
    with pytest.raises(ValueError, match="take fewer points or a smaller network"):
        System(swing(points=2**16), staf.siren(1, 1, width=64, depth=2).double())
