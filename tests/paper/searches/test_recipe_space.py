from __future__ import annotations

import numpy as np
import pytest

from paper.protocols.plan_variants import PlanVariant
from paper.searches.recipe_space import CONSTANTS, RATE, SHARED, known_optimisers, latin, searched_optimisers, trials
from staf.nn import NETWORKS, build
from staf.training import Recipe


def test_every_stratum_is_taken_once_along_every_axis():
    for places in latin(7).values():
        assert sorted(places) == [(k + 0.5) / 7 for k in range(7)]
    assert latin(7) == latin(7)
    assert latin(7) != latin(7, seed=1)


@pytest.mark.parametrize("count", [7, 11, 15])
def test_shared_axes_do_not_go_together(count):
    places = latin(count)
    correlations = np.corrcoef([places[axis] for axis in SHARED])
    assert np.abs(correlations - np.eye(len(SHARED))).max() < 0.35


def test_all_networks_have_the_same_trials_of_the_recipe():
    found = {model: trials(model, 8, optimisers=["muon", "adam"]) for model in CONSTANTS}
    assert set(found) == set(NETWORKS) - {"kan", "ngp", "relu"}, "which the paper's tables do not have"
    for model, choices in found.items():
        assert len(choices) == 8
        assert choices[0] == PlanVariant(model)
        for mine, sirens in zip(choices[1:], found["siren"][1:], strict=True):
            for name in ("rate", "matrix_rate", "optimiser"):
                assert mine.recipe[name] == sirens.recipe[name]
            assert RATE[0] <= mine.recipe["rate"] <= RATE[1]
    assert {variant.recipe["optimiser"] for variant in found["siren"][1:]} == {"muon", "adam"}


@pytest.mark.parametrize("model", list(CONSTANTS))
def test_every_trial_can_be_built(model):
    for variant in trials(model, 5)[1:]:
        Recipe(steps=1, **variant.recipe)
        field = build(
            {"name": model, "arguments": {"in_features": 2, "out_features": 3, **variant.arguments}}, device="meta"
        )
        for name, published in CONSTANTS[model].items():
            value = field.architecture["arguments"][name]
            assert published - 1 <= value <= published + 2 if name == "bands" else 0.5 <= value / published <= 4


def test_staf_searches_its_own_constants_within_the_same_trials():
    tried = trials("staf", 8)[1:]
    assert {variant.arguments["terms"] for variant in tried} == {3, 5, 8}
    assert len({variant.recipe["phase_rate"] for variant in tried}) == 7
    assert all(variant.recipe["phase_rate"] == variant.recipe["amplitude_rate"] for variant in tried)


def test_the_recipe_alone_can_be_searched():
    assert all(not variant.arguments for variant in trials("staf", 8, constants=False))


def test_optimisers_are_the_recipes_own():
    assert "adam" in known_optimisers()
    assert searched_optimisers() == [name for name in known_optimisers() if name != "adam"]
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        trials("siren", 0)
    with pytest.raises(ValueError, match="got 'sirren'"):
        trials("sirren", 2)
