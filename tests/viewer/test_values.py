"""What the page's graphics card computes is what torch computes, for every step of a network, derivatives included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from staf.api import FittedField
from staf.export.describe import describe
from staf.export.evaluate import evaluate
from staf.nn import derivatives
from tests.export.networks import EVERY_STEP, make
from tests.viewer.conftest import Page

POINTS, SECOND, FIRST = 0, 1, 2


def block(inputs: int, columns: int, **more: Any) -> dict[str, Any]:
    """A slanted block of points of the cube."""
    along = [[0.031, 0.013, -0.021][:inputs], [-0.017, 0.041, 0.026][:inputs]]
    base = [0.1, -0.2, 0.3][:inputs]
    return {
        "base": base,
        # No point lies on a side of a cell of a hash grid, where derivatives jump.
        "origin": [-0.3017] * inputs,
        "alongColumns": along[0],
        "alongRows": along[1],
        "columns": columns,
        **more,
    }


def points(described: dict[str, Any], total: int) -> torch.Tensor:
    n = np.arange(total)
    start = np.array(described["base"]) + np.array(described["origin"])
    across = (n % described["columns"])[:, None] * np.array(described["alongColumns"])
    down = (n // described["columns"])[:, None] * np.array(described["alongRows"])
    return torch.from_numpy(start + across + down)


@pytest.mark.parametrize("name", EVERY_STEP)
def test_values_and_derivatives_of_every_step(name: str, page: Page):
    field, total = FittedField(make(name, width=13, depth=3), {}), 143
    page.open(field)
    x = points(block(2, 13), total)
    expected = field(x).detach().numpy()
    rounding = np.abs(evaluate(describe(field.module), x.numpy()) - expected).max()
    assert np.abs(page.read(block(2, 13), total).T - expected).max() < 1e-5 + 3 * rounding

    directions = [[0.5, 0.0], [0.0, 0.25], [0.0, 0.0]]
    second = page.read(block(2, 13, lanes=SECOND, directions=directions), total).reshape(3, total, 4)
    twin = FittedField(make(name, width=13, depth=3).double(), {})
    slopes = twin.gradient(x).detach().numpy() * np.array([0.5, 0.25])
    scale = np.abs(slopes).max()
    assert np.abs(second[..., 0].T - expected).max() < 1e-5 + 3 * rounding
    assert np.abs(second[..., 1:3].transpose(1, 0, 2) - slopes).max() < 1e-4 * scale
    # Linear interpolation has no second derivative at the sides of its cells; torch refuses it.
    if name == "ngp":
        return
    bends = derivatives.laplacian(twin, x, units=(2.0, 4.0)).detach().numpy()
    assert np.abs(second[..., 3].T - bends).max() < 3e-4 * max(np.abs(bends).max(), 1)
    assert page.browser.complaints == []


@pytest.mark.parametrize(("name", "inputs"), [("staf", 1), ("mfn", 3), ("wire-planar", 3), ("pemlp", 3)])
def test_one_and_three_coordinates(name: str, inputs: int, page: Page):
    field, total = FittedField(make(name, inputs, width=8, depth=2), {}), 50
    page.open(field)
    directions = np.eye(3)[:inputs, :inputs].tolist() + [[0.0] * inputs] * (3 - inputs)
    got = page.read(block(inputs, 7, lanes=FIRST, directions=directions), total).reshape(3, total, 4)
    x = points(block(inputs, 7), total)
    slopes = field.gradient(x.float()).detach().numpy()
    assert np.abs(got[..., 0].T - field(x).detach().numpy()).max() < 1e-5
    assert np.abs(got[..., 1 : inputs + 1].transpose(1, 0, 2) - slopes).max() < 1e-4 * np.abs(slopes).max()
