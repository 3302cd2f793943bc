"""Each part measures what it says, tells every arm the same, and lets none see what is held out."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
import torch

from paper.data.scenes import ball_scene
from paper.experiments.do_sines_help import STUDY
from paper.sines.arms import ARMS
from paper.sines.decoders import FEATURES, GRID, grids, scenes
from paper.sines.equations import HIGHEST, equations, waves
from paper.sines.gaps import gaps, tones
from paper.sines.parts import PARTS
from staf.kinds import Audio, Image
from staf.nn.roles import parameter_roles


def test_a_gap_is_measured_and_neither_fitted_nor_looked_at():
    (tone,) = tones(1, 8000, 0.05)
    other = tone.array.copy()
    other[180:220] = 0.1 * np.sin(np.arange(40) * 2.5)[:, None]
    problems = [gaps([Audio(array, 8000)], 0.005) for array in (tone.array, other)]
    one, two = (problem.tasks[0] for problem in problems)
    assert one.points == 400 - 40
    assert torch.equal(one.batch(None).target, two.batch(None).target)
    starts = [problem.fresh(ARMS["frozen sine"], 0, 8, 0).layers[0].weight for problem in problems]
    assert torch.equal(*starts), "the first frequencies come from what is heard"
    values = one.transform.fitted(tone.values())
    assert one.evaluate(lambda x: values[: len(x)])["gap_db"] > 100
    assert one.evaluate(lambda x: torch.zeros(len(x), 1))["gap_db"] == pytest.approx(0, abs=1e-4)


def test_an_equations_solution_has_no_error_and_its_frequencies_are_told_to_every_arm():
    problem = equations(2, 16, told=True)
    task = problem.tasks[1]
    assert task.evaluate(lambda c: task.solution(task.at(c)))["error_db"] > 200
    known = sorted(waves(1)[0])
    row = problem.fresh(ARMS["frozen sine"], 1, 10, 0)
    assert sorted((HIGHEST * row.layers[0].weight).abs().unique().tolist()) == pytest.approx(known)
    sines = problem.fresh(ARMS["5 sines a layer"], 1, 10, 0)
    assert sorted(sines.activation(0).frequency.tolist()) == pytest.approx(known)
    assert (sines.layers[0].weight.abs() == 1).all()
    plain = equations(2, 16, told=False).fresh(ARMS["frozen sine"], 1, 10, 0)
    assert plain.layers[0].weight.dtype == torch.float64
    assert len(plain.layers[0].weight.unique()) == 10


def test_arms_behind_a_grid_share_its_start_and_differ_behind_it():
    picture = Image(np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8), name="a")
    problem = grids([picture], 8)
    frozen, trained = (problem.fresh(ARMS[name], 0, 6, 3) for name in ("frozen sine", "5 sines a neuron"))
    assert torch.equal(frozen[0].table, trained[0].table)
    assert parameter_roles(frozen)["0.table"] == "table"
    assert frozen[1].layers[0].in_features == GRID["levels"] * GRID["features"]
    wider = problem.fresh(ARMS["frozen sine, wider"], 0, 6, 3)
    assert wider[1].layers[0].out_features == problem.width(ARMS["frozen sine, wider"], 6) > 6


def test_scenes_are_searched_on_other_views_than_they_are_measured_on():
    problem = scenes(ball_scene(test=4), 30.0, 16, 128)
    search, counted = ({*task.signal.test.names} for task in problem.tasks)
    assert len(search) == len(counted) == 2
    assert not search & counted
    field = problem.fresh(ARMS["5 sines a layer"], 1, 6, 0)
    assert field(torch.zeros(3, 6)).shape == (3, 4)
    assert field.colour.layers[0].in_features == FEATURES + 3


def test_parts_whose_data_is_not_given_are_left_out():
    parser = argparse.ArgumentParser()
    STUDY.add_arguments(parser)
    arguments = parser.parse_args([])
    arguments.quick = False
    runs = STUDY.sweep(arguments)[1]
    assert {run.part for run in runs} == {name for name, part in PARTS.items() if not part.needs}
    assert not any(ARMS[run.arm].timed_as for run in runs), "time is settled by the pictures"
    arguments.parts = ["scenes"]
    with pytest.raises(ValueError, match="--scene"):
        STUDY.sweep(arguments)
