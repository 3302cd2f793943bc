"""Each part measures what it says, tells every arm the same, and lets none see what is held out."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
import torch

import staf.training
from paper.data.scenes import ball_scene
from paper.experiments.do_sines_help import STUDY
from paper.sines import fits
from paper.sines.arms import ARMS
from paper.sines.decoders import FEATURES, GRID, grids, scenes
from paper.sines.equations import HIGHEST, equations, waves
from paper.sines.fits import fit_arm
from paper.sines.gaps import gaps, tones
from paper.sines.parts import OMEGA0, PARTS, Given
from paper.sines.signals import pictures, recordings
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


def _ball():
    return scenes(ball_scene(test=4).changed(ray_samples=8), 30.0, 16, 128)


def test_scenes_are_searched_on_other_views_than_they_are_measured_on():
    problem = _ball()
    (task,) = problem.tasks
    search, counted = {*task.searched.names}, {*task.signal.test.names}
    assert len(search) == len(counted) == 2
    assert not search & counted
    field = problem.fresh(ARMS["5 sines a layer"], 0, 6, 0)
    assert field(torch.zeros(3, 6)).shape == (3, 4)
    assert field.colour.layers[0].in_features == FEATURES + 3
    found = fit_arm(
        problem, ARMS["frozen sine"], width=6, steps=2, seeds=[0], device="cpu", optimiser="muon", rates=(1e-3,)
    )
    ((measures,),) = found.measures.values()
    assert found.search == {"0.001": measures["searched_psnr"]}
    assert found.values == {"ball": [measures["psnr"]]}
    assert measures["psnr"] != measures["searched_psnr"]


def test_a_seed_of_a_scene_does_not_start_with_the_occupied_cells_of_another():
    def last(seeds):
        found = fit_arm(
            _ball(), ARMS["frozen sine"], width=6, steps=20, seeds=seeds,
            device="cpu", optimiser="muon", rates=(2e-3,),
        )  # fmt: skip
        return found.networks[-1].state_dict()

    together, alone = last([0, 1]), last([1])
    assert all(torch.equal(together[name], alone[name]) for name in alone)


def test_parts_whose_data_is_not_given_are_left_out():
    parser = argparse.ArgumentParser()
    STUDY.add_arguments(parser)
    arguments = parser.parse_args([])
    arguments.quick = False
    runs = STUDY.sweep(arguments)[1]
    assert {run.part for run in runs} == {name for name, part in PARTS.items() if not part.needs}
    assert not any(ARMS[run.arm].timed_as for run in runs), "equal time is a question of pictures and scenes"
    arguments.slower = 1.25
    assert {run.part for run in STUDY.sweep(arguments)[1] if ARMS[run.arm].timed_as} == {run.part for run in runs}
    arguments.parts = ["scenes"]
    with pytest.raises(ValueError, match="--scene"):
        STUDY.sweep(arguments)


def _arguments(*words):
    parser = argparse.ArgumentParser()
    STUDY.add_arguments(parser)
    arguments = parser.parse_args(list(words))
    arguments.quick = False
    return arguments


def _problem(part, sound):
    picture = Image(np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8), name="a")

    class Here(Given):
        def pictures(self):
            return [picture]

        def sound(self):
            return sound

    run = argparse.Namespace(size={"pictures": 8, "grids": 8, "equations": 16, "told equations": 16}.get(part, 0.02))
    run.factor, run.batch = 1.0, None
    return PARTS[part].problem(Here(), run)


@pytest.mark.parametrize("part", [name for name in PARTS if name not in ("shapes", "scenes")])
def test_one_omega_is_trained_in_every_part(part):
    (tone,) = tones(1, 8000, 0.2)
    problem = _problem(part, tone)
    frozen, field = ({*_names(problem.fresh(ARMS[arm], 0, 6, 0))} for arm in ("frozen sine", "trained Omega"))
    added = {name.rsplit(".", 1)[-1] for name in field - frozen}
    assert added == {"frequency"}
    assert field > frozen


def _names(field):
    return [name for name, parameter in field.named_parameters() if parameter.requires_grad]


def test_one_omega_is_trained_in_a_scene():
    problem = _ball()
    field = problem.fresh(ARMS["trained Omega"], 0, 6, 0)
    assert sum("frequency" in name for name, _ in field.named_parameters()) == 6
    assert not any(name.endswith(("amplitude", "phase")) for name, _ in field.named_parameters())


def test_the_first_frequencies_of_sound_are_multiplied_by_the_factor():
    (tone,) = tones(1, 8000, 0.2)
    first = [
        recordings(tone, 0.05, 2, factor).fresh(ARMS["trained Omega"], 0, 6, 0).layers[0].weight
        for factor in (1.0, 4.0)
    ]
    assert torch.allclose(4 * first[0], first[1])


def test_unknown_frequencies_are_asked_of_pictures_and_sound_by_all_arms():
    words = ["--parts", "omega0 sound", "--factors", "0.5", "1", "--omega-rate", "100", "--recording", "a.wav"]
    runs = STUDY.sweep(_arguments(*words))[1]
    assert set(OMEGA0) == {"omega0", "omega0 sound"}
    assert {run.factor for run in runs} == {0.5, 1.0}
    rates = {run.arm: run.omega_rate for run in runs}
    assert rates["trained Omega"] == rates["5 sines a layer"] == 100
    assert rates["frozen sine"] is None, "it has no Omega to train"
    assert len({STUDY.sweep(_arguments(*words))[0].label(run) for run in runs}) == len(runs)


def test_omega_learns_at_its_own_rate():
    problem = pictures([Image(np.random.default_rng(0).integers(0, 256, (6, 6, 3), np.uint8), name="a")], 6)
    fresh = problem.fresh(ARMS["trained Omega"], 0, 6, 0).activation(0).frequency.detach()
    moved = []
    for rate in (1.0, 100.0):
        found = fit_arm(
            problem, ARMS["trained Omega"], width=6, steps=2, seeds=[0], device="cpu", rates=(1e-3,), omega_rate=rate
        )
        moved.append(float((found.networks[0].activation(0).frequency.detach() - fresh).abs().max()))
    assert moved[1] > 50 * moved[0] > 0


def test_networks_that_train_apart_on_a_cpu_end_as_those_that_train_together(monkeypatch):
    photos = [Image(np.random.default_rng(n).integers(0, 256, (6, 6, 3), np.uint8), name=str(n)) for n in range(3)]
    problem, sizes = pictures(photos, 6), []

    def train(tasks, fields, *rest, **options):
        sizes.append(len(fields))
        return staf.training.train(tasks, fields, *rest, **options)

    def values(points):
        sizes.clear()
        monkeypatch.setattr(fits, "CPU_POINTS", points)
        monkeypatch.setattr(fits, "train", train)
        return fit_arm(
            problem, ARMS["5 sines a layer"], width=6, steps=3, seeds=[0, 1], device="cpu", rates=(1e-3,)
        ).values  # fmt: skip

    together, first = values(4 * 36), list(sizes)
    apart, then = values(35), list(sizes)
    assert (first, then) == ([4], [1] * 4)
    assert together.keys() == apart.keys() == {"1", "2"}
    for name in apart:
        assert apart[name] == pytest.approx(together[name], abs=1e-3)
