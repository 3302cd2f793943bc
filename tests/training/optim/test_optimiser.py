from __future__ import annotations

import pytest
import torch

from staf.nn import ngp, wire
from staf.training.optim.optimiser import Optimiser
from staf.training.recipe import Recipe
from tests.training.problem import small_staf


def take_step(field, recipe, multiplier=1.0, freeze=False):
    optimiser = Optimiser(field, recipe)
    field(torch.rand(8, 2, generator=torch.Generator().manual_seed(0))).abs().square().sum().backward()
    before = {name: p.detach().clone() for name, p in field.named_parameters()}
    optimiser.set_rates(torch.tensor(optimiser.rates(multiplier, freeze)))
    optimiser.step()
    return {name: (p.detach() - before[name]).abs().max().item() for name, p in field.named_parameters()}, optimiser


def test_first_adam_step_moves_each_role_by_its_own_rate():
    recipe = Recipe(steps=1, rate=1e-3, amplitude_rate=2.0, frequency_rate=3.0, phase_rate=0.5)
    moved, _ = take_step(small_staf(), recipe, multiplier=0.5)
    # The first step of Adam moves every parameter by its rate.
    for name, distance in moved.items():
        factor = {"amplitude": 2.0, "frequency": 3.0, "phase": 0.5}.get(name.split(".")[-1], 1.0)
        assert distance == pytest.approx(0.5e-3 * factor, rel=0.05), name


def test_freezing_leaves_activations_bit_for_bit():
    moved, _ = take_step(small_staf(), Recipe(steps=1), freeze=True)
    for name, distance in moved.items():
        assert (distance == 0) == (name.split(".")[-1] in ("amplitude", "frequency", "phase")), name


def test_muon_takes_the_hidden_matrices_and_adam_the_rest():
    _, optimiser = take_step(small_staf(), Recipe(steps=1, optimiser="muon", matrix_rate=7e-3, momentum=0.8))
    assert optimiser.base_rates["matrix"] == 7e-3
    muon = optimiser.optimisers[1]
    assert muon.param_groups[0]["momentum"] == 0.8
    assert [tuple(p.shape) for p in muon.param_groups[0]["params"]] == [(16, 16), (16, 16)]


def test_complex_weights_stay_on_adam():
    field = wire(2, 3, width=16, depth=3, generator=torch.Generator().manual_seed(0))
    moved, optimiser = take_step(field, Recipe(steps=1, optimiser="muon"))
    assert "matrix" not in optimiser.base_rates
    assert all(distance > 0 for distance in moved.values())


@pytest.mark.parametrize("name", ["adam", "muon", "soap"])
def test_state_round_trip_gives_the_same_next_step(name):
    recipe = Recipe(steps=1, optimiser=name)
    first = small_staf()
    _, optimiser = take_step(first, recipe)
    second = small_staf()
    second.load_state_dict(first.state_dict())
    copy = Optimiser(second, recipe)
    copy.load_tensors({name: value.clone() for name, value in optimiser.tensors().items()})
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        b.grad = a.grad.clone()
    for each in (optimiser, copy):
        each.set_rates(torch.tensor(each.rates(1.0)))
        each.step()
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_field_without_trainable_parameters_is_refused():
    field = small_staf().requires_grad_(False)
    with pytest.raises(ValueError, match="no trainable parameters"):
        Optimiser(field, Recipe(steps=1))


def test_soap_takes_every_matrix_and_adam_the_rest():
    recipe = Recipe(steps=1, optimiser="soap", rate=2e-3, matrix_rate=7e-3)
    _, optimiser = take_step(small_staf(), recipe)
    assert (optimiser.base_rates["edge"], optimiser.base_rates["matrix"]) == (2e-3, 7e-3)
    edges, hidden = (group["params"] for group in optimiser.optimisers[1].param_groups)
    assert [tuple(p.shape) for p in edges] == [(16, 2), (3, 16)]
    assert [tuple(p.shape) for p in hidden] == [(16, 16), (16, 16)]


def test_soap_takes_complex_matrices():
    field = wire(2, 3, width=16, depth=3, generator=torch.Generator().manual_seed(0))
    moved, optimiser = take_step(field, Recipe(steps=1, optimiser="soap"))
    assert len(optimiser.optimisers[1].param_groups[1]["params"]) == 2
    assert all(distance > 0 for distance in moved.values())


@pytest.mark.parametrize("decay", [0.0, 1e-6])
def test_decay_takes_rows_of_a_table_that_no_point_reads_towards_zero(decay):
    field = ngp(2, 1, levels=1, log2_entries=10, coarsest=16, finest=16, width=8, depth=1)
    table = field.encoding.table
    with torch.no_grad():
        table.fill_(0.5)
    before = table.detach().clone()
    take_step(field, Recipe(steps=1, table_rate=1e-2, table_decay=decay))
    still = (table == before).all(-1)
    assert bool(still.any()) == (decay == 0)
    # Of 17 x 17 vertices the 8 points read 32 at most; Adam's first step is as long as the rate.
    moved = (before - table).detach().median().item()
    assert moved == pytest.approx(1e-2 if decay else 0.0, abs=1e-6)
