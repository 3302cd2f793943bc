"""Which signals share a plan, and which train together."""

from __future__ import annotations

import numpy as np
import pytest

import staf
from staf.kinds import Audio, Image
from staf.many.plans import Planner
from staf.planning import Budget


def planner(**options):
    given = {"recipe": None, "plan": None, "model": None, "plan_by": "size", "budget": Budget(steps=3), "seed": 0}
    return Planner(**given | options)


def image(side, channels=3):
    return Image(np.zeros((side, side, channels), np.uint8))


def jobs(signals, **options):
    return planner(**options).jobs([(str(i), signal) for i, signal in enumerate(signals)])


def test_sizes_within_a_factor_of_two_share_the_plan_of_the_smallest():
    made = jobs([image(40), image(20), image(24), image(28)])
    assert [job.name for job in made] == ["0", "1", "2", "3"]
    big, small, alike, near = (job.key for job in made)
    assert small == alike == near
    assert big != small
    alone = staf.plan(image(20), Budget(steps=3)).recipe
    assert made[3].recipe.steps == alone.steps == 3


def test_channels_kinds_and_recipes_are_kept_apart():
    audio = Audio(np.zeros(400), rate=1000)
    made = jobs([image(20), image(20, 1), audio], recipe=staf.Recipe(steps=9))
    assert len({job.key for job in made}) == 3
    assert {job.recipe.steps for job in made} == {3}
    own = jobs([image(20)], budget=Budget(), recipe=staf.Recipe(steps=9))
    assert own[0].recipe.steps == 9


def test_a_plan_given_is_that_of_every_size():
    def factory(generator):
        return staf.siren(2, 3, width=8, depth=2, generator=generator)

    given = staf.Plan(factory, staf.Recipe(steps=4))
    made = jobs([image(4), image(40)], plan=given)
    assert made[0].key == made[1].key
    with pytest.raises(ValueError, match="give plan or plan_by, not both"):
        planner(plan=given, plan_by="spectrum")


def test_a_network_that_reads_its_signal_is_alone():
    (job,) = jobs([image(16)], model="incode")
    assert job.alone
    assert job.architecture is None
    assert not jobs([image(16)])[0].alone
