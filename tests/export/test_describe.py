"""The graph of every network has the network's values."""

from __future__ import annotations

import copy
from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

import staf
from staf.export import graph as g
from staf.export.describe import describe
from staf.export.errors import ExportError
from staf.export.evaluate import evaluate
from staf.nn.networks import NETWORKS as LIBRARY
from staf.nn.networks import SCENE_NETWORKS as LIBRARY_OF_SCENES
from tests.export.networks import EVERY_STEP, NETWORKS, SCENE_NETWORKS, make, make_radiance, points


def test_the_list_names_every_network():
    assert {name.partition("-")[0] for name in NETWORKS} == set(LIBRARY)
    assert {name.partition("-")[0] for name in SCENE_NETWORKS} == set(LIBRARY_OF_SCENES)


def test_a_few_networks_have_every_step():
    found = {type(step) for name in EVERY_STEP for step in describe(make(name, width=4)).steps}
    assert found == set(get_args(g.Step)) - {g.Radiance}


@pytest.mark.parametrize("name", SCENE_NETWORKS)
def test_values_are_those_of_a_radiance_field(name: str):
    field, x = make_radiance(name), points(50, 6)
    expected = copy.deepcopy(field).double()(x.double()).detach().numpy()
    assert np.abs(evaluate(describe(field.double()), x.double().numpy()) - expected).max() < 1e-11


@pytest.mark.filterwarnings("error")
def test_colours_of_a_radiance_field_far_from_zero():
    values = evaluate(g.Graph(4, [g.Radiance(g.COORDINATES)]), np.array([[0.0, -2000.0, 0.0, 2000.0]]))
    assert values.tolist() == [[1, 0, 0.5, 1]]


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_values_are_those_of_the_module(name: str, inputs: int):
    field, x = make(name, inputs), points(50, inputs)
    expected = copy.deepcopy(field).double()(x.double()).detach().numpy()
    assert np.abs(evaluate(describe(field.double()), x.double().numpy()) - expected).max() < 1e-11


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_shallow_networks(name: str, depth: int):
    field, x = make(name, depth=depth, width=7), points(9)
    expected = field(x).detach().numpy()
    assert np.abs(evaluate(describe(field), x.numpy()) - expected).max() < 1e-4


def test_a_bound_incode_needs_no_target_afterwards():
    field = staf.incode(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ExportError, match="bind"):
        describe(field)
    field.bind(type("Task", (), {"observation": torch.rand(1, 8, 8)})())
    x = points(9)
    assert np.abs(evaluate(describe(field), x.numpy()) - field(x).detach().numpy()).max() < 1e-4


def test_a_sequential_of_known_layers():
    field = nn.Sequential(nn.Linear(2, 8), staf.SineSeries(terms=3), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    field.in_features = 2
    x = points(9)
    assert np.abs(evaluate(describe(field), x.numpy()) - field(x).detach().numpy()).max() < 1e-5


def test_unknown_layers_are_refused_by_name():
    field = nn.Sequential(nn.Linear(2, 8), nn.GELU())
    field.in_features = 2
    with pytest.raises(ExportError, match="cannot export GELU: its formula is not known; known are ChebyshevKan"):
        describe(field)
    with pytest.raises(ExportError, match="in_features"):
        describe(nn.GELU())


def test_a_subclass_with_another_formula_is_refused():
    class Louder(staf.SineSeries):
        def forward(self, x):
            return 2 * super().forward(x)

    field = nn.Sequential(nn.Linear(2, 8), Louder(terms=3), nn.Linear(8, 1))
    field.in_features = 2
    with pytest.raises(ExportError, match="cannot export Louder"):
        describe(field)


def test_a_hook_that_changes_values_is_found_out():
    field = make("siren")
    field.layers[0].register_forward_hook(lambda module, inputs, output: output + 1)
    with pytest.raises(ExportError, match="differ from its formula's by"):
        describe(field)


def test_a_graph_refuses_steps_that_do_not_fit():
    graph = g.Graph(2, [g.Dense(0, np.ones((4, 2)), np.zeros(4))])
    for step in (
        g.Relu(2),
        g.Sum(0, 1),
        g.Dense(1, np.ones((3, 2)), np.zeros(3)),
        g.Window(np.ones((4, 3)), np.ones(4)),
    ):
        with pytest.raises(ValueError, match=type(step).__name__):
            graph.add(step)
