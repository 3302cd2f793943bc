from __future__ import annotations

import pytest
import torch
from torch import nn

import staf
from staf.storage import FileError
from staf.training import Recipe
from staf.training.checks import check_budget, check_features
from tests.training.problem import picture, small_siren, task


def stack(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def test_modules_of_any_kind_are_held_to_the_tasks_shapes():
    check_features(stack(2, 3), task())
    check_features(small_siren(), task())
    with pytest.raises(ValueError, match=r"to shape \(2, 1\), and the signal needs \(2, 3\)"):
        staf.fit(picture(), stack(2, 1), Recipe(steps=1), progress=False)
    with pytest.raises(ValueError, match=r"coordinates \(n, 2\) to values, and fails"):
        check_features(stack(5, 3), task())
    with pytest.raises(ValueError, match="float32"):
        check_features(stack(2, 3).double(), task())
    with pytest.raises(ValueError, match="maps 2 coordinates to 1 values"):
        check_features(staf.siren(2, 1, width=4), task())


def test_looking_at_a_module_leaves_it_as_it_is():
    module = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    check_features(module, task())
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert all(part.training for part in module.modules())


def test_another_budget_is_refused():
    saved = Recipe(steps=9)
    check_budget("c", saved, steps=9, seconds=None, target_db=None)
    with pytest.raises(FileError, match="made with steps=9, got steps=100: leave steps out"):
        check_budget("c", saved, steps=100)
    with pytest.raises(FileError, match="target_db=None, got target_db=30"):
        check_budget("c", saved, target_db=30)
