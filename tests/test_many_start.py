from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.many_start import learn_start, load_start, save_start


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
    start = learn_start(faces(12), plan=plan(5), steps=5, rounds=8, at_once=6, progress=False)
    held_out = faces(4, seed=1)
    usual = staf.fit_many(held_out, plan=plan(5), progress=False).mean_psnr
    learnt = staf.fit_many(held_out, plan=start, progress=False).mean_psnr
    assert learnt > usual + 5
    loaded = load_start(save_start(start, tmp_path / "start.safetensors"))
    assert loaded.recipe == start.recipe
    assert loaded.reasons == {"start": start.reasons["start"]}
    assert all(
        torch.equal(one, other)
        for one, other in zip(loaded.field().parameters(), start.field(3).parameters(), strict=True)
    )


def test_one_round_of_one_fit_is_that_fit():
    (picture,) = faces(1)
    start = learn_start([picture], plan=plan(4), steps=4, rounds=1, at_once=1, progress=False, device="cpu")
    fitted = staf.fit(picture, plan=plan(4), progress=False, device="cpu").module
    for one, other in zip(start.field().parameters(), fitted.parameters(), strict=True):
        torch.testing.assert_close(one, other)


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
