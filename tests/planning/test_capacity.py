"""Which network can hold a signal: small pictures as asked, large ones by a grid whose size the picture decides."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Audio, Grid, Image, Shape
from staf.planning import Budget, capacity, plan
from staf.planning.capacity import grid_arguments, reduction_losses
from staf.planning.situation import Choice
from staf.tasks import SuperResolution


def smooth(height, width, period=200.0):
    y, x = np.mgrid[:height, :width]
    value = 127 + 60 * np.sin(2 * np.pi * x / period) + 60 * np.cos(2 * np.pi * y / period)
    return Image(np.repeat(value[..., None], 3, 2).astype(np.uint8))


@cache
def noisy(height, width):
    return Image(np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8))


def arguments(chosen):
    return chosen.field(0).architecture["arguments"]


def test_pictures_that_a_network_can_hold_keep_it():
    for side in (64, 512, 700):
        chosen = plan(smooth(side, side), device="cuda")
        assert "capacity" not in chosen.reasons
        assert chosen.field(0).architecture["name"] == "staf"


def test_large_pictures_get_a_grid_with_the_activation_that_was_asked_for():
    picture = noisy(1040, 1040)
    for model in ("staf", "siren", "finer", "gauss"):
        chosen = plan(picture, Budget(seconds=20), device="cuda", model=model)
        assert "parameters cannot hold 3,244,800 values: a hash grid" in chosen.reasons["capacity"]
        assert chosen.field(0).architecture["name"] == "ngp"
        assert arguments(chosen)["activation"] == model
        assert chosen.recipe.optimiser == "adam"
        assert chosen.recipe.batch == 2**18
    for model in ("wire", "mfn", "incode"):
        chosen = plan(picture, Budget(seconds=20), device="cuda", model=model)
        assert chosen.field(0).architecture["name"] == model
        assert chosen.recipe.batch == 2**18


def test_what_the_plan_says_is_what_is_built():
    chosen = plan(noisy(1200, 1600), device="cuda")
    count = sum(p.numel() for p in chosen.field(0).parameters())
    assert f"{count:,} parameters" in chosen.reasons["capacity"]
    grid = chosen.field(0).encoding.layout
    assert f"{len(grid.levels)} levels up to {grid.finest:,} cells" in chosen.reasons["capacity"]


def test_the_finest_cells_follow_the_detail_of_the_picture_and_the_target():
    sharp = plan(noisy(1200, 1600), device="cuda")
    soft = plan(smooth(1200, 1600), device="cuda")
    exact = plan(smooth(1200, 1600, period=40.0), Budget(target_db=59), device="cuda")
    assert arguments(sharp)["finest"] == 1600
    assert arguments(soft)["finest"] == 400
    less = plan(smooth(1200, 1600, period=40.0), Budget(target_db=45), device="cuda")
    assert arguments(exact)["finest"] > arguments(less)["finest"]
    assert "keeps" in sharp.reasons["capacity"]
    assert sum(p.numel() for p in soft.field(0).parameters()) < sum(p.numel() for p in sharp.field(0).parameters()) / 10


def test_a_small_budget_gets_a_coarser_grid():
    picture = noisy(800, 1200)
    chosen = [plan(picture, Budget(steps=steps), device="cpu") for steps in (20, 2000)]
    assert arguments(chosen[0])["finest"] < arguments(chosen[1])["finest"] <= 1200
    assert "the budget trains no more" in chosen[0].reasons["capacity"]
    assert chosen[0].recipe.batch == 2**14
    # Seconds hold fewer steps on a CPU.
    slow, fast = (plan(picture, Budget(seconds=1), device=device) for device in ("cpu", "cuda"))
    assert arguments(slow)["finest"] < arguments(fast)["finest"]


def test_steps_that_are_left_open_follow_the_number_of_pixels():
    few, many = (plan(noisy(height, 1600), device="cuda").recipe.steps for height in (1200, 2400))
    assert few == 1000
    assert many == round(128 * 2400 * 1600 / 2**18)


def test_the_grid_itself_follows_signals_of_any_dimension():
    for shape in ((40,), (30, 20), (20, 30, 10), (6, 5, 4, 7)):
        signal = SimpleNamespace(in_features=len(shape), out_features=2, shape=shape)
        chosen = plan(signal, Budget(steps=300), model="ngp")
        field = chosen.field(0)
        assert field(torch.zeros(3, len(shape))).shape == (3, 2)
        assert field.encoding.layout.finest <= max(shape)


def test_restorations_get_a_grid_no_finer_than_half_of_what_is_seen():
    task = SuperResolution(noisy(64, 48), 2, samples=2)
    chosen = plan(task, Budget(steps=5), model="ngp")
    assert arguments(chosen)["finest"] == 32
    large = SimpleNamespace(in_features=2, out_features=3, points=10**7, samples=1, observed=noisy(8, 8))
    from staf.planning.restoration import super_resolution

    assert super_resolution(large, device="cuda").field(0).architecture["name"] == "staf"


def test_reduction_losses_rank_pictures():
    soft, sharp = (reduction_losses(picture.array) for picture in (smooth(300, 400), noisy(300, 400)))
    assert list(soft) == list(sharp) == [8, 4, 2]
    assert soft[8] > 30
    assert soft[8] < soft[4] < soft[2]
    assert sharp[2] < 15
    flat = reduction_losses(np.full((64, 64, 1), 0.3, np.float32))
    assert all(loss > 100 for loss in flat.values())
    assert reduction_losses(np.zeros((3, 3, 1), np.uint8)) == {}


def test_sixteen_bits_and_floats_are_looked_at_alike():
    picture = smooth(300, 400).array
    expected = reduction_losses(picture)[2]
    assert reduction_losses(picture.astype(np.uint16) * 257)[2] == pytest.approx(expected, abs=0.01)
    assert reduction_losses(picture.astype(np.float32) / 255)[2] == pytest.approx(expected, abs=0.01)


def test_arguments_of_tiny_and_huge_grids():
    assert grid_arguments((3, 3), 3, 10) == {"levels": 1, "log2_entries": 10, "coarsest": 3, "finest": 3}
    assert grid_arguments((40_000, 40_000), 40_000, 24)["levels"] == capacity.MOST_LEVELS


def test_a_network_that_is_too_small_is_said_to_be():
    noise = np.random.default_rng(0)
    minute = Audio(noise.uniform(-1, 1, 60 * 44100).astype(np.float32), 44100)
    told = plan(minute).reasons["size"]
    assert "198,205 parameters for 2,646,000 samples, 13 for each parameter, and" in told
    assert "staf fit-windows" in told
    second = Audio(noise.uniform(-1, 1, 44100).astype(np.float32), 44100)
    volume = Grid(noise.random((40, 40, 40), np.float32), channels=False)
    ball = Shape.sphere(resolution=48)
    for signal in (second, volume, ball, smooth(64, 64)):
        assert "size" not in plan(signal).reasons
        assert "the network ngp" in plan(signal, rules=narrow(2)).reasons["size"] or signal is second
        assert "size" not in plan(signal, model="ngp", rules=narrow(2)).reasons
    # Only the voxels at the surface count: about 6 r^2 of a ball of radius r.
    told = plan(ball, rules=narrow(2)).reasons["size"]
    counted = int(told.split(" voxels at the surface")[0].rsplit(" ", 1)[1].replace(",", ""))
    faces = sum(np.count_nonzero(np.diff(np.asarray(ball).astype(int), axis=axis)) for axis in range(3))
    assert counted == pytest.approx(faces, rel=0.1)


def test_a_network_given_by_hand_and_a_restoration():
    fit = staf.fit(noisy(64, 64), field=staf.siren(2, 3, width=4, depth=1), steps=1, progress=False, device="cpu")
    assert "27 parameters for 12,288 values" in fit.plan.reasons["size"]
    seen = SuperResolution(noisy(64, 64), 2)
    assert "size" not in plan(seen, rules=narrow(2)).reasons


def narrow(width):
    return {"asked": lambda s: Choice("", arguments={"width": width})}
