from __future__ import annotations

import math

import pytest
import torch

import staf
from staf.tasks.equations import Condition, Equation, Jet, boundary, initial, initial_rate

PI = math.pi


def wave(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(2 * PI * x[:, :1]) * torch.cos(PI * x[:, 1:])


def test_a_jet_has_the_derivatives_in_the_units_of_the_box():
    box = torch.tensor([[0.0, 4.0], [-1.0, 1.0]], dtype=torch.float64)
    low, units = box[:, 0], (box[:, 1] - box[:, 0]) / 2
    coordinates = torch.rand(50, 2, dtype=torch.float64) * 2 - 1
    jet = Jet(lambda c: wave(low + units * (c + 1)), coordinates, units)
    x = low + units * (coordinates + 1)
    a, b = (2 * PI * x[:, :1]), (PI * x[:, 1:])
    assert torch.allclose(jet.d(0), 2 * PI * a.cos() * b.cos())
    assert torch.allclose(jet.d(0, 1), -2 * PI**2 * a.cos() * b.sin())
    assert torch.allclose(jet.d(1, 1, 0), -2 * PI**3 * a.cos() * b.cos())
    assert torch.allclose(jet.laplacian(), -5 * PI**2 * wave(x))
    assert torch.allclose(jet.laplacian([1]), -(PI**2) * wave(x))
    assert Jet(lambda c: torch.ones(len(c), 1), coordinates, units).d(0).abs().max() == 0


def test_points_lie_inside_and_on_the_faces_of_each_condition():
    task = Equation(
        [(0, 2), (-1, 1)],
        lambda u, x: u.value,
        [initial(lambda x: x[:, 1] + 5), boundary(2.0, [(1, 0), (1, 1)], axes=2)],
        points=200,
    )
    inside, start, walls = (task.at(part) for part in task.batch(None).coordinates)
    assert (inside > torch.tensor([0.0, -1.0])).all()
    assert inside.std(0).min() > 0.5
    assert (start[:, 0] == 0).all()
    assert sorted(set(walls[:, 1].tolist())) == [-1.0, 1.0]
    assert torch.allclose(task.target[0][:, 0], start[:, 1] + 5)
    assert (task.target[1] == 2).all()
    assert torch.allclose(task.coordinates_of(inside), task.batch(None).coordinates[0], atol=1e-6)


def test_the_loss_of_the_solution_is_zero_and_adds_up_over_chunks():
    task = Equation(
        [(0, 1), (0, 1)],
        lambda u, x: u.laplacian() + 5 * PI**2 * u.value,
        [boundary(wave, axes=2), Condition(((0, 0),), lambda x: wave(x) * 0, of=lambda u, x: u.d(1), weight=3.0)],
        points=64,
        dtype=torch.float64,
    )

    def solved(c: torch.Tensor) -> torch.Tensor:
        return wave(task.at(c))

    batch = task.batch(None)
    assert float(task.loss(solved, batch).detach()) < 1e-20

    def off(c: torch.Tensor) -> torch.Tensor:
        return solved(c) + c[:, :1] ** 2

    parts = [task.batch(torch.arange(0, 20), batch.weight[:20]), task.batch(torch.arange(20, 64), batch.weight[20:])]
    total = sum(float(task.loss(off, part).detach()) for part in parts)
    assert total == pytest.approx(float(task.loss(off, batch).detach()))
    task.solution = wave
    assert task.relative_error(lambda c: solved(c) * 1.5) == pytest.approx(0.5)


def test_an_equation_of_ones_own_is_solved_in_float64():
    swing = Equation(
        [(0, 2)],
        lambda u, x: u.d(0, 0) + 9 * u.value,
        [initial(0.0), initial_rate(3.0)],
        solution=lambda x: torch.sin(3 * x),
        points=48,
        scale=9.0,
        dtype=torch.float64,
    )
    field = staf.siren(1, 1, width=12, depth=2, omega0=3.0, generator=torch.Generator().manual_seed(0)).double()
    soap = staf.recipes.full_batch(steps=400).replace(rate=1e-2, matrix_rate=1e-2, precision="fp32")
    fit = staf.fit(swing, field=field, recipe=soap, progress=False)
    assert fit.metrics["relative_error"] < 5e-3
    solution = swing.solved(fit.field)
    assert solution(torch.tensor([[1.0]])).item() == pytest.approx(math.sin(3), abs=0.03)
    assert "residual at points that were not trained on" in fit.notes[0]


def test_the_plan_says_float64_and_the_file_keeps_it(tmp_path):
    problem = staf.tasks.equations.Helmholtz(3.0, source=1.0, points=32, dtype=torch.float64)
    plan = staf.plan(problem, model="siren")
    assert plan.recipe.optimiser == "soap"
    assert plan.reasons["precision"] == "float64, as asked"
    assert plan.recipe.steps == 2000
    fit = staf.fit(problem, plan=plan, steps=2, progress=False)
    loaded = staf.load(fit.save(tmp_path / "u.safetensors"))
    x = torch.rand(5, 2, dtype=torch.float64)
    assert next(loaded.module.parameters()).dtype == torch.float64
    assert torch.equal(problem.solved(loaded)(x), problem.solved(fit.field)(x))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": [(1, 0)]}, "box must have an increasing pair"),
        ({"box": []}, "box must have"),
        ({"dtype": torch.float16}, "dtype must be torch.float32 or torch.float64"),
        ({"points": 0}, "points must be at least 1"),
        ({"scale": 0.0}, "scale must be a positive number"),
        ({"conditions": [boundary(0.0, axes=2)]}, "a face must be of the box's 1 axes"),
        ({"conditions": [initial(lambda x: x[:, :2].sum())]}, r"must return \(8, 1\), got \(\)"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"box": [(0, 1)], "residual": lambda u, x: u.value, "conditions": [], "points": 8} | change
    with pytest.raises(ValueError, match=message):
        Equation(**arguments)
    with pytest.raises(TypeError, match="conditions must be Condition objects"):
        Equation([(0, 1)], lambda u, x: u.value, [0.0])
    with pytest.raises(ValueError, match="a face must be"):
        Condition(((0, 2),), 0.0)
