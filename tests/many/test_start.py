from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import staf
from staf.many.start import FIRST_RATE, RATE_RATE, START_RATE, learn_start, load_start, save_start


def faces(count, seed=0):
    """Pictures that have something in common: a bright disc on a dark ground, somewhere near the middle."""
    rng, out = np.random.default_rng(seed), []
    rows, columns = np.mgrid[0:8, 0:8]
    for _ in range(count):
        centre = 3.5 + rng.uniform(-0.7, 0.7, 2)
        disc = np.exp(-((rows - centre[0]) ** 2 + (columns - centre[1]) ** 2) / 6)
        out.append((255 * disc).astype(np.uint8))
    return out


def plan(steps):
    def factory(generator):
        return staf.siren(2, 1, width=16, depth=2, omega0=5.0, hidden_omega0=5.0, generator=generator)

    return staf.Plan(factory, staf.recipes.default(steps=steps))


def test_pictures_that_were_not_seen_are_fitted_in_fewer_steps(tmp_path):
    start = learn_start(faces(12), plan=plan(5), steps=3, rounds=20, at_once=4, progress=False)
    assert_better_than_usual(start, 10, tmp_path)


def test_a_start_for_a_recipe_leads_further_than_twice_its_steps(tmp_path):
    options = {"steps": 8, "rounds": 6, "at_once": 6, "progress": False, "device": "cpu"}
    start = learn_start(faces(12), plan=plan(8), recipe=plan(1).recipe, **options)
    assert start.recipe == plan(8).recipe
    assert_better_than_usual(start, 16, tmp_path)


def test_one_round_goes_to_the_mean_end_of_fits():
    pictures = faces(3)
    options = {"plan": plan(4), "progress": False, "device": "cpu"}
    start = learn_start(pictures, recipe=plan(4).recipe, steps=4, rounds=1, at_once=3, **options)
    ends = [fit.module.state_dict() for fit in staf.fit_many(pictures, **options)]
    for name, tensor in start.field().state_dict().items():
        torch.testing.assert_close(tensor, torch.stack([end[name] for end in ends]).mean(0))


def assert_better_than_usual(start, steps, tmp_path):
    """A start leads pictures that it has not seen further than so many usual steps, and so does its file."""
    held_out = faces(4, seed=1)
    usual = staf.fit_many(held_out, plan=plan(steps), progress=False).mean_psnr
    learnt = staf.fit_many(held_out, plan=start, progress=False).mean_psnr
    assert learnt > usual + 2
    loaded = load_start(save_start(start, tmp_path / "start.safetensors"))
    assert loaded.recipe == start.recipe
    assert loaded.reasons == {"start": start.reasons["start"]}
    for key, tensor in start.field().state_dict().items():
        assert torch.equal(loaded.field(3).state_dict()[key], tensor)
    again = staf.fit_many(held_out, plan=loaded, progress=False)
    assert [fit.metrics for fit in again] == [
        fit.metrics for fit in staf.fit_many(held_out, plan=start, progress=False)
    ]


def test_the_trainer_takes_the_steps_of_the_formula():
    """Alone and in a group, with a start and rates that were moved once."""
    picture, other = faces(2)
    start = learn_start([picture, other], plan=plan(2), steps=2, rounds=2, at_once=2, progress=False, device="cpu")
    field, task = start.field(), staf.tasks.task_for(staf.open(picture), "centres")
    rates = field.learnt_rates.tensors
    assert all((rate != rate.flatten()[0]).any() for name, rate in rates.items() if "weight" in name)
    batch = task.batch(None)
    for _ in range(2):
        gradients = torch.autograd.grad(task.loss(field, batch), list(field.parameters()))
        with torch.no_grad():
            for (name, parameter), gradient in zip(field.named_parameters(), gradients, strict=True):
                parameter -= rates[name] * gradient
    alone = staf.fit(picture, plan=start, progress=False, device="cpu").module
    together = staf.fit_many([picture, other], plan=start, progress=False, device="cpu")[0].module
    for fitted in (alone, together):
        for one, expected in zip(fitted.parameters(), field.parameters(), strict=True):
            torch.testing.assert_close(one, expected)


def test_one_round_moves_start_and_rates_down_the_gradient():
    """Adam's first step is its rate times the sign of the gradient, here by differences of the loss after a fit."""
    (picture,) = faces(1)
    start = learn_start([picture], plan=plan(2), steps=2, rounds=1, at_once=1, progress=False, device="cpu").field()
    task, usual = staf.tasks.task_for(staf.open(picture), "centres").to("cpu"), plan(2).field(0).double()
    batch = [part.double() for part in task.batch(None)]

    def after(name=None, place=(), move=0.0, rate=0.0):
        field = copy.deepcopy(usual)
        if name is not None:
            field.get_parameter(name).data[place] += move
        for _ in range(2):
            loss = ((field(batch[0]) - batch[1]) ** 2).mean()
            gradients = torch.autograd.grad(loss, list(field.parameters()))
            with torch.no_grad():
                for (own, parameter), gradient in zip(field.named_parameters(), gradients, strict=True):
                    rates = torch.full_like(gradient, FIRST_RATE)
                    if own == name:
                        rates[place] += rate
                    parameter -= rates * gradient
        return float(((field(batch[0]) - batch[1]) ** 2).mean().detach())

    for name, place in (("layers.0.weight", (1, 0)), ("output.bias", (0,))):
        slope = after(name, place, move=1e-5) - after(name, place, move=-1e-5)
        moved = float(start.get_parameter(name)[place]) - float(usual.get_parameter(name)[place])
        assert moved == pytest.approx(-START_RATE * np.sign(slope), rel=1e-2)
        slope = after(name, place, rate=1e-5) - after(name, place, rate=-1e-5)
        moved = float(start.learnt_rates.tensors[name][place]) - FIRST_RATE
        assert moved == pytest.approx(-RATE_RATE * np.sign(slope), rel=1e-2)


def test_files_and_fields_that_are_no_start_are_refused(tmp_path):
    staf.fit(faces(1)[0], plan=plan(1), progress=False).save(tmp_path / "field.safetensors")
    with pytest.raises(staf.FileError, match="is not a start that save_start wrote"):
        load_start(tmp_path / "field.safetensors")
    with pytest.raises(ValueError, match="needs a field of a learnt start"):
        staf.fit(faces(1)[0], plan=plan(1), recipe=staf.Recipe(steps=1, optimiser="learnt"), progress=False)
    with pytest.raises(ValueError, match="freeze_activations_from is for adam, muon and soap"):
        staf.Recipe(steps=1, optimiser="learnt", freeze_activations_from=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"sources": []}, "at least one signal"),
        ({"sources": [np.zeros((4, 4)), np.zeros((5, 5))]}, "signals of one size"),
        ({"plan": None, "model": "incode"}, "networks that train together"),
    ],
)
def test_mistakes(change, message):
    arguments = {"sources": faces(2), "plan": plan(2), "steps": 2, "rounds": 1, "at_once": 2} | change
    with pytest.raises(ValueError, match=message):
        learn_start(arguments.pop("sources"), progress=False, **arguments)
