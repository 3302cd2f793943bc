"""What takes steps, for one network and for several."""

from __future__ import annotations

import pytest
import torch

from staf.training import Recipe
from staf.training.assembly import assemble
from staf.training.stacked import StackedField, StackedTask
from staf.training.stepper import Stepper, points_at_once
from tests.training.problem import small_siren, task


def test_one_network_is_stepped_in_chunks_of_a_batch():
    stepper = assemble(task(), small_siren(), Recipe(steps=1, batch=100), seed=3, chunk=40)
    assert type(stepper) is Stepper
    assert (stepper.group, stepper.chunk, stepper.batches.size) == (1, 40, 100)
    assert stepper.batches.generator.initial_seed() == 3
    assert assemble(task(), small_siren(), Recipe(steps=1)).chunk == 256 < points_at_once(torch.device("cpu"))


@pytest.mark.parametrize("optimiser", ["adam", "muon", "soap"])
def test_several_networks_have_a_loss_each_and_are_not_split(optimiser):
    several = StackedTask([task(), task(8)])
    stack = StackedField([small_siren(), small_siren(1)])
    stepper = assemble(several, stack, Recipe(steps=1, optimiser=optimiser), chunk=3)
    assert stepper.chunk == several.points == 256
    losses = stepper.advance([stepper.optimiser.rates(1.0)])
    assert losses.shape == (1, 2)
    assert losses[0, 0] != losses[0, 1]
