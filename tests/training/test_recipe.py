from __future__ import annotations

import json

import pytest

from staf.planning import recipes
from staf.training.recipe import Recipe


def test_the_papers_image_recipe_takes_43_steps_an_epoch():
    recipe = recipes.paper_image()
    assert recipe.total_steps(510 * 339) == 501 * 43
    assert recipe.convention == "ends"


@pytest.mark.parametrize(
    ("recipe", "rate", "final", "steps"),
    [
        (recipes.paper_kodak(), 1e-3, 0.05, 1000),
        (recipes.paper_celeba(), 1e-3, 0.05, 250),
        (recipes.paper_audio(), 2.5e-4, 0.36, 1001),
    ],
)
def test_full_batch_recipes_of_the_paper(recipe, rate, final, steps):
    assert (recipe.rate, recipe.schedule(1.0), recipe.total_steps(308_207)) == (rate, pytest.approx(final), steps)
    assert recipe.batch_size(308_207) == 308_207


def test_epoch_recipes_of_the_paper():
    assert recipes.paper_shape().total_steps(250_000) == 600
    assert recipes.paper_super_resolution().total_steps(1024) == 501 * 4
    assert (recipes.paper_denoising().rate, recipes.released_denoising().rate) == (1.5e-4, 2.5e-4)


def test_plain_data_round_trip_through_json():
    recipe = recipes.default(steps=7).replace(seconds=3.0, freeze_activations_from=2, momentum=0.8)
    assert Recipe.from_plain(json.loads(json.dumps(recipe.to_plain()))) == recipe


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs steps, epochs or seconds"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"steps": 1.5}, "got 1.5"),
        ({"steps": 1, "epochs": 1}, "not both"),
        ({"steps": 1, "rate": -1.0}, "rate must be positive, got -1.0"),
        ({"steps": 1, "matrix_rate": float("nan")}, "matrix_rate must be positive"),
        ({"steps": 1, "phase_rate": -1.0}, "phase_rate must not be negative"),
        ({"steps": 1, "table_decay": -1.0}, "table_decay must not be negative"),
        ({"steps": 1, "optimiser": "sgd"}, "adam, muon, soap, learnt, got 'sgd'"),
        ({"steps": 1, "convention": "middle"}, "convention"),
        ({"steps": 1, "precision": "fp8"}, "precision"),
        ({"steps": 1, "seconds": 0.0}, "seconds must be positive"),
        ({"steps": 1, "momentum": 1.0}, "momentum must be at least 0 and below 1, got 1.0"),
        ({"steps": 1, "freeze_activations_from": -1}, "freeze_activations_from"),
    ],
)
def test_wrong_values_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**arguments)


def test_unknown_entries_are_refused():
    with pytest.raises(ValueError, match="no entry speed"):
        Recipe.from_plain({"steps": 1, "speed": 0.9})


def test_replace_swaps_steps_and_epochs():
    assert recipes.paper_image().replace(steps=5).total_steps(10**6) == 5
    assert recipes.paper_kodak().replace(epochs=2, batch=10).total_steps(15) == 4
