"""Radiance: the procedural scene to a floor, known depth, resuming, targets, photos in turn, and the captured step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds.scene.rendering import render_rays
from staf.kinds.scene.room import Room
from staf.kinds.scene.task import MEASURED, Radiance
from staf.kinds.scene.updates import FIT_EVERY, UPDATE_EVERY, density_of
from staf.ops.execution import Execution
from staf.training import Checkpoint, run
from tests.kinds.scene.procedural import traced
from tests.kinds.scene.small import field, recipe, scene


def opaque(x):
    return torch.cat([torch.full((len(x), 1), 1e4), 0.5 + 0.5 * x[:, :3]], -1)


@pytest.fixture(scope="module")
def fitted():
    """Training reads nothing of the held-out views."""
    task = Radiance(scene(), samples=8192, resolution=24)
    return task, run(task, field(), recipe(80), progress=False)


def test_a_scene_is_learnt_to_a_floor(fitted):
    task, result = fitted
    white = torch.ones(3)
    empty = Radiance(scene()).evaluate(lambda x: torch.zeros(len(x), 4))
    # Nothing at all is the white background.
    assert empty["psnr"] < 13
    assert result.metrics["psnr"] > 18
    assert result.metrics["ssim"] > 0.75
    shown = task.reconstruction
    assert shown.train.pixels.shape == (2, 16, 16, 3)
    assert torch.equal(task.background, white)


def test_depth_is_that_of_the_known_surfaces(fitted):
    task, _ = fitted
    exact = traced(task.signal.test.cameras)[1]
    found = task.reconstruction.train.depths
    both = torch.isfinite(exact) & (found > 0)
    assert both.float().mean() > 0.8 * torch.isfinite(exact).float().mean()
    assert (found - exact)[both].abs().median() < 0.3


def test_density_is_where_matter_is(fitted):
    _, result = fitted
    inside, outside = torch.tensor([[0.3, 0.0, 0.35]]), torch.tensor([[0.9, 0.9, 0.9]])
    assert density_of(result.field, inside / 1.2) > 3 * density_of(result.field, outside / 1.2)


def test_a_resumed_fit_equals_one_that_was_not_interrupted(tmp_path):
    def train(steps=None, resume=None, callbacks=()):
        photos = scene(train=4, test=1, size=8, subpixels=2)
        task = Radiance(photos, samples=512, resolution=8, most_bytes=8 * 8 * 4 * 2)
        given = {"progress": False, "callbacks": callbacks, "checkpoint": tmp_path / "c.safetensors"}
        return run(task, field(), recipe((FIT_EVERY + 1) * UPDATE_EVERY + 3), resume=resume, **given)

    whole = train()

    class Interrupt:
        every = 1

        def __call__(self, state):
            if state.step == FIT_EVERY * UPDATE_EVERY + 1:
                import os
                import signal

                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(staf.Interrupted):
        train(callbacks=[Interrupt()])
    again = train(resume=Checkpoint.load(tmp_path / "c.safetensors"))
    assert again.history.loss == whole.history.loss
    assert again.metrics == whole.metrics


def test_room_follows_what_steps_need_and_changes_no_step(monkeypatch):
    def train():
        task = Radiance(scene(train=2, test=1, size=8), samples=2**13, resolution=8)
        return task, run(task, field(), recipe(FIT_EVERY * UPDATE_EVERY + 3), progress=False)

    task, less = train()
    assert task.looked_at.size < task.looked_at.most
    assert task.trained_on.size < task.trained_on.most
    monkeypatch.setattr(Room, "fit", lambda room: False)
    same, all_of_it = train()
    assert same.step_shape == (same.looked_at.most, same.trained_on.most)
    np.testing.assert_allclose(less.history.loss, all_of_it.history.loss, rtol=1e-2)


def test_a_target_is_confirmed_by_photos_that_were_fitted():
    task = Radiance(scene(train=3, test=2, size=8))
    seen = []

    def predict(x):
        seen.append(len(x))
        return torch.zeros(len(x), 4)

    measured = task.confirm(predict)
    assert task.reconstruction is None
    photos = np.stack([task.signal.view._photo(task.signal.train, i) for i in range(3)]) / 255
    levels = [-10 * np.log10(np.square(1 - photo).mean()) for photo in photos]
    assert measured["psnr"] == pytest.approx(float(np.mean(levels)), abs=1e-3)
    assert MEASURED >= 3


def test_without_held_out_views_measures_are_of_the_first_photos():
    task = Radiance(scene(train=3, test=0, size=8))
    assert task.evaluate(lambda x: torch.zeros(len(x), 4)) == task.confirm(lambda x: torch.zeros(len(x), 4))


def test_views_are_measured_by_as_many_points_at_once_as_a_step_has():
    task, asked = Radiance(scene(train=1, test=1, size=8), samples=1000, resolution=4), []
    module = field()
    module.register_forward_hook(lambda module, given, found: asked.append(len(given[0])))
    run(task, module, recipe(1), progress=False)
    # A step has 64 rays.
    assert max(asked) == 1000


def test_matter_beside_the_occupied_cells_is_measured_too():
    task, asked = Radiance(scene(train=1, test=1, size=8), resolution=4), []
    task.grid.occupied.zero_()
    task.grid.occupied[1, 1, 1] = True
    task.evaluate(lambda x: asked.append(x[:, :3]) or torch.zeros(len(x), 4))
    where = torch.cat(asked)
    # The cell reaches from -0.5 to 0, and its neighbours to 0.5.
    assert where.max() > 0.3
    assert where.max() <= 0.5001


@pytest.mark.parametrize("module", [field(), opaque], ids=["fog", "opaque"])
def test_rays_beyond_the_samples_have_no_weight(monkeypatch, module):
    """Fog fills the samples that are trained on; of opaque matter few are, and those that are looked at are filled."""
    task = Radiance(scene(size=8), samples=512, resolution=4)
    batch = task.batch(torch.arange(256))
    drawn, order = task._draw(256)
    monkeypatch.setattr(task, "_draw", lambda rays: (drawn, order))
    few = task.loss(module, batch)
    found, looked_at = task._visible(module, *batch.coordinates[order].split(3, -1), drawn[:, 0])
    whole = looked_at & task.trained_on.has(found)
    assert 0 < int(whole.sum()) < 256
    kept = batch._replace(coordinates=batch.coordinates[order][whole], target=batch.target[order][whole])
    kept = kept._replace(weight=torch.full((int(whole.sum()),), 1 / int(whole.sum())))
    monkeypatch.setattr(task, "_draw", lambda rays: (drawn[whole], torch.arange(rays)))
    torch.testing.assert_close(few, task.loss(module, kept), rtol=1e-4, atol=1e-6)


def test_a_recipe_says_how_many_rays_where_the_scene_leaves_it_open(tmp_path):
    one = scene(train=2, test=1, size=8)
    fit = staf.fit(one, field(), recipe(1, batch=32, subpixels=2), progress=False)
    assert one.subpixels is None
    assert staf.load(fit.save(tmp_path / "f.safetensors")).metadata["signal"]["subpixels"] == 2
    asked = staf.fit(one.changed(subpixels=1), field(), recipe(1, batch=32, subpixels=2), progress=False)
    assert "subpixels" not in asked.field.metadata["signal"]


def test_several_rays_of_a_pixel_are_rendered_apart_and_shown_as_their_mean(monkeypatch):
    """With four rays in the centres of its quarters, a pixel's error is that of a picture twice as large."""
    one = scene(train=1, test=0, size=8)
    several = Radiance(one.changed(subpixels=2), resolution=4)
    larger = Radiance(one.with_views(one.render(nothing, size=(16, 16)).train), resolution=4)
    batch, module = several.batch(None), field()
    assert batch.coordinates.shape == (64, 12)
    assert several.trained_on.most == 4 * larger.trained_on.most
    drawn = several._draw(64)[0]
    assert drawn.shape == (64, 4 + 3)
    origin, direction = several._rays(batch.coordinates)
    places = torch.arange(256).view(8, 2, 8, 2).transpose(1, 2).reshape(-1)
    expected = larger.batch(places).coordinates
    # Directions are taken as linear within a pixel, which is 0.09 wide here.
    torch.testing.assert_close(torch.cat([origin, direction], -1), expected, rtol=0, atol=1e-3)
    numbers = torch.full((64, 7), 0.5)
    monkeypatch.setattr(several, "_draw", lambda pixels: (numbers, torch.arange(pixels)))
    found = several.loss(module, batch)
    picture = render_rays(module, origin, direction, several.grid.occupied, torch.full((3,), 0.5), step=one.step)
    pixels = batch.target[:, :3] * batch.target[:, 3:] + (1 - batch.target[:, 3:]) * 0.5
    error = (picture.colour.view(64, 4, 3).mean(1) - pixels).square().mean()
    torch.testing.assert_close(found, error, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("rays", [1, 5, 64, 7919, 16_384])
def test_every_step_draws_other_numbers_and_another_order_of_all_rays(rays):
    task = Radiance(scene(size=8))
    (first, one), (second, other) = task._draw(rays), task._draw(rays)
    assert (first != second).any(-1).all()
    for drawn, order in ((first, one), (second, other)):
        assert (drawn >= 0).all()
        assert (drawn < 1).all()
        assert torch.equal(order.sort().values, torch.arange(rays))
    assert rays < 60 or not torch.equal(one, other)
    if rays > 1000:
        assert drawn.mean(0).sub(0.5).abs().max() < 0.02
        assert torch.corrcoef(drawn.T).fill_diagonal_(0).abs().max() < 0.05


def nothing(x):
    return torch.zeros(len(x), 4)


def test_a_batch_of_all_rays_trains_all_of_them():
    """Few samples have room in a step, and the rays that have it are others each time."""
    task = Radiance(scene(train=2, test=1, size=8), samples=1024, resolution=4)
    batch = task.batch(None)
    seen = torch.zeros(task.points)
    for _ in range(60):
        drawn, order = task._draw(task.points)
        found, _ = task._visible(nothing, *batch.coordinates[order].split(3, -1), drawn[:, 0])
        seen[order[task.trained_on.has(found)]] += 1
    assert (seen > 0).float().mean() > 0.95
    assert seen.max() < 30


def test_transparent_photos_are_shown_on_the_drawn_colour():
    """A field of nothing shows what is behind: the error of empty pixels is zero whatever the colour."""
    task = Radiance(scene(size=8))
    empty = (task.signal.train.pixels.reshape(-1, 4)[:, 3] == 0).nonzero()[:, 0]

    assert task.loss(nothing, task.batch(empty)) < 1e-12
    assert task.loss(nothing, task.batch(torch.arange(256))) > 1e-3


def test_photos_that_do_not_fit_take_turns():
    task = Radiance(scene(train=5, test=1, size=8), samples=128, resolution=8, most_bytes=2 * 8 * 8 * 4)
    assert task.points == 2 * 64
    before = set(task.photos.view.tolist())
    run(task, field(), recipe(3 * UPDATE_EVERY, batch=64), progress=False)
    assert task.photos.turns == 3
    assert len(before | set(task.photos.view.tolist())) > 2
    for slot, view in enumerate(task.photos.view.tolist()):
        assert torch.equal(task.photos.pixels[slot], task.signal.train.pixels[view])


def test_divergence_keeps_the_best_weights():
    task = Radiance(scene(train=3, test=1, size=8), samples=256, resolution=8)

    def poison(state):
        if state.step == 10:
            torch.nn.init.constant_(state.field.colour.output.weight, torch.nan)

    poison.every = 1
    result = run(task, field(), recipe(20), callbacks=[poison], progress=False)
    assert "diverged at step 10" in result.stopped
    assert all(p.isfinite().all() for p in result.field.parameters())
    assert np.isfinite(result.metrics["psnr"])


def test_a_step_of_more_pixels_has_room_for_their_samples():
    def most(pixels, **changes):
        one = scene(train=1, test=0, size=8).changed(**changes)
        return Radiance(one.as_planned(recipe(1, batch=pixels))).points_of_step

    assert (most(2**5), most(2**12), most(2**12, subpixels=2), most(2**20)) == (2**14, 2**15, 2**17, 2**16)


@pytest.mark.gpu
@pytest.mark.parametrize("subpixels", [1, 2])
def test_a_captured_step_trains(subpixels):
    task = Radiance(scene(subpixels=subpixels), samples=2**16, resolution=32)
    for module in (field(), staf.radiance(6, 4, activation="staf", width=32, features=32, depth=2, omega0=20.0)):
        result = run(
            task, module.cuda(), recipe(150, precision="tf32"), execution=Execution(device="cuda"), progress=False
        )
        assert not [note for note in result.notes if "captured" in note]
        assert result.metrics["psnr"] > 15
        # Steps of other shapes were recorded on the way.
        assert task.step_shape < (task.looked_at.most, task.trained_on.most)


@pytest.mark.parametrize("module", [field(), staf.radiance(6, 4, activation="staf", width=8, features=8, depth=2)])
def test_a_given_network_is_trained_by_its_own_plan(module):
    fit = staf.fit(scene(train=4, test=1, size=8), module, steps=2, progress=False, device="cpu")
    assert fit.module is module
    assert np.isfinite(fit.metrics["psnr"])
