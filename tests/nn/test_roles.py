"""Roles of parameters, in the library's networks and in anyone's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.nn import NETWORKS, CoordinateMLP, SineSeries, parameter_roles


def by_role(module: nn.Module, role: str) -> list[str]:
    return [name for name, found in parameter_roles(module).items() if found == role]


def test_staf() -> None:
    field = NETWORKS["staf"].factory(2, 3, width=8, depth=3)
    assert by_role(field, "matrix") == ["layers.1.weight", "layers.2.weight"]
    for part in ("amplitude", "frequency", "phase"):
        assert by_role(field, part) == [f"activations.{layer}.{part}" for layer in range(3)]
    assert set(by_role(field, "other")) == {
        *(f"layers.{layer}.bias" for layer in range(3)), "layers.0.weight", "output.weight", "output.bias",
    }  # fmt: skip


def test_per_neuron_parameters_are_not_matrices() -> None:
    field = NETWORKS["staf"].factory(2, 3, width=8, depth=3, sharing="neuron")
    assert by_role(field, "amplitude")
    assert by_role(field, "matrix") == ["layers.1.weight", "layers.2.weight"]


@pytest.mark.parametrize(("name", "expected"), [("wire", 0), ("mfn", 3), ("incode", 3), ("pemlp", 3), ("ffn", 3)])
def test_others(name: str, expected: int) -> None:
    assert len(by_role(NETWORKS[name].factory(2, 3, width=8), "matrix")) == expected


def test_foreign_modules_leave_out_the_first_and_the_last_layer() -> None:
    module = nn.Sequential(
        nn.Linear(2, 8), SineSeries(), nn.Linear(8, 8), nn.Linear(8, 8, dtype=torch.complex64), nn.Linear(8, 3)
    )
    assert by_role(module, "matrix") == ["2.weight"]
    assert by_role(module, "phase") == ["1.phase"]


def test_networks_inside_another_module_keep_their_own_ends() -> None:
    module = nn.ModuleDict({
        "density": CoordinateMLP(3, 8, width=8, depth=2, activation=SineSeries),
        "colour": CoordinateMLP(8, 3, width=8, depth=2, activation=SineSeries),
        "extra": nn.Linear(3, 3),
    })  # fmt: skip
    assert by_role(module, "matrix") == ["density.layers.1.weight", "colour.layers.1.weight"]
