from __future__ import annotations

import numpy as np
import pytest
import torch

from paper.protocols.plan_variants import PlanVariant, plan_of
from staf.kinds import Audio, Image
from staf.planning import Budget, plan

IMAGE = Image(np.random.default_rng(0).integers(0, 256, (12, 12, 3), np.uint8))


def test_no_change_is_the_default_plan():
    chosen, default = plan_of(IMAGE, PlanVariant("siren"), 7, "cpu"), plan(IMAGE, Budget(steps=7), model="siren")
    assert chosen.recipe == default.recipe
    for mine, theirs in zip(chosen.field(3).parameters(), default.field(3).parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_changes_reach_recipe_and_network_and_leave_the_rest():
    changed = PlanVariant(
        "staf", recipe={"rate": 2e-3, "schedule": {"name": "constant"}}, arguments={"terms": 3, "hidden_omega0": 20.0}
    )
    chosen, default = plan_of(IMAGE, changed, 7, "cpu"), plan_of(IMAGE, PlanVariant("staf"), 7, "cpu")
    assert chosen.recipe.rate == 2e-3
    assert chosen.recipe.schedule(0.9) == 1
    assert chosen.recipe.optimiser == default.recipe.optimiser
    arguments, before = (p.field(0).architecture["arguments"] for p in (chosen, default))
    assert {name for name in before if before[name] != arguments[name]} == {"terms", "hidden_omega0"}


def test_another_law_drops_the_constants_of_the_first():
    start = PlanVariant("staf", arguments={"extra_amplitude": 0.2})
    assert plan_of(IMAGE, start, 1, "cpu").field(0).architecture["arguments"]["extra_amplitude"] == 0.2
    law = PlanVariant("staf", arguments={"law": "theorem", "extra_amplitude": 0.2})
    assert plan_of(IMAGE, law, 1, "cpu").field(0).architecture["arguments"]["law"] == "theorem"


def test_the_published_schedule_is_adams():
    chosen = plan_of(IMAGE, PlanVariant("wire", "paper"), 9, "cpu")
    assert (chosen.recipe.optimiser, chosen.recipe.rate, chosen.recipe.steps) == ("adam", 5e-3, 9), "its authors' rate"
    assert (chosen.recipe.batch, chosen.recipe.convention) == (None, "ends")
    assert chosen.field(0).architecture["arguments"]["sigma0"] == 30
    sound = Audio(np.sin(np.arange(900) * 0.1).astype(np.float32), 8000)
    chosen = plan_of(sound, PlanVariant("siren", "paper"), 9, "cpu")
    assert (chosen.recipe.rate, chosen.recipe.schedule(0.9)) == (1e-4, 1)
    assert chosen.field(0).architecture["arguments"]["omega0"] == 3000


def test_networks_for_audio_keep_its_first_layer():
    sound = Audio(np.sin(np.arange(900) * 0.1).astype(np.float32), 8000)
    wide = plan_of(sound, PlanVariant("siren", arguments={"width": 32}), 9, "cpu").field(0)
    assert wide.architecture["arguments"]["width"] == 32
    plain = PlanVariant("siren", arguments={"width": 32})
    assert wide.layers[0].weight.abs().max() != plan_of(IMAGE, plain, 9, "cpu").field(0).layers[0].weight.abs().max()


def test_unknown_changes_are_refused():
    with pytest.raises(TypeError, match="colour"):
        plan_of(IMAGE, PlanVariant("siren", recipe={"colour": 1}), 1, "cpu")
    with pytest.raises(TypeError, match="no argument 'terms'"):
        plan_of(IMAGE, PlanVariant("siren", arguments={"terms": 1}), 1, "cpu").field(0)
