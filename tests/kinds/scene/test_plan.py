"""Plans for scenes: the network, its layers, rates, rays and budget, each with its reason."""

from __future__ import annotations

import dataclasses

import pytest

from staf.kinds.scene.plan import LONG_SECONDS, MORE_PIXELS, RAYS
from staf.nn import NETWORKS, SCENE_NETWORKS
from staf.planning import Budget, plan
from tests.kinds.scene.small import scene

TOPICS = {"network", "optimiser", "rate", "batch", "budget"}


@pytest.mark.parametrize("network", ["grid", "mlp"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("model", [name for name, spec in NETWORKS.items() if spec.scene])
def test_every_network_with_settings_has_a_plan(network, device, model):
    chosen = plan(scene(train=2, test=1, size=8).changed(network=network), device=device, model=model)
    assert set(chosen.reasons) >= TOPICS
    assert all(chosen.reasons.values())
    field = chosen.field_factory
    name = {"grid": "radiance_grid", "mlp": "radiance"}[network]
    assert field.spec is SCENE_NETWORKS[name]
    assert field.arguments["activation"] == NETWORKS[model].scene[name].constants["activation"]
    assert chosen.recipe.rate == NETWORKS[model].scene[name].rate
    assert chosen.recipe.batch == 128


def test_constants_without_a_grid():
    def constants(model):
        return plan(scene(train=1, test=0, size=4).changed(network="mlp"), model=model).field_factory.arguments

    assert constants("staf")["omega0"] == constants("siren")["omega0"] == 40
    assert constants("finer")["omega0"] == 30
    assert (constants("wire")["omega0"], constants("wire")["sigma"], constants("gauss")["sigma"]) == (3, 2, 5)
    assert constants("pemlp")["bands"] == 10
    field = plan(scene(train=1, test=0, size=4).changed(network="mlp"), model="siren").field(0)
    assert sum(p.numel() for p in field.parameters()) == 100_484


def test_the_finest_cells_follow_the_photos():
    """A pixel at the middle of the box covers two cells or more, up to the published grid."""

    def finest(size):
        one = scene(train=1, test=0, size=8)
        cameras = one.train.cameras.resized(width=size, height=size)
        chosen = plan(one.with_photos(dataclasses.replace(one.train, cameras=cameras), None), device="cuda")
        return chosen.field_factory.arguments["finest"]

    cells = [finest(size) for size in (8, 100, 400, 800, 4000)]
    assert cells == sorted(cells)
    assert cells[0] == 128
    assert cells[3] == 2 * cells[2] == 8 * cells[1]
    assert cells[4] == 2048


def test_the_table_is_drawn_to_zero_where_steps_are_many():
    one = scene(train=1, test=0, size=4)
    assert plan(one, device="cuda").recipe.table_decay == 1e-8
    assert plan(one, device="cpu").recipe.table_decay == plan(one.changed(network="mlp")).recipe.table_decay == 0


def test_a_target_is_confirmed_over_photos_that_are_fitted():
    reasons = plan(scene(train=3, test=2, size=4), Budget(target_db=20.0)).reasons
    assert reasons["target"] == "the fit ends early at 20 dB, confirmed over 3 photos of those that are fitted"


def test_long_fits_on_a_gpu_have_four_rays_a_pixel():
    one = scene(train=2, test=0, size=8)
    long = Budget(seconds=2 * LONG_SECONDS["rays"] * 128)

    def rays(changed, budget, device="cuda"):
        recipe = plan(changed, budget, device=device).recipe
        return changed.as_planned(recipe).subpixels

    assert rays(one, long) == 2
    assert rays(one, Budget(seconds=0.5 * LONG_SECONDS["rays"] * 128)) == 1
    assert rays(one, Budget(steps=1000)) == rays(one, long, "cpu") == rays(one.changed(network="mlp"), long) == 1
    assert rays(one.changed(subpixels=1), long) == 1
    assert rays(one.changed(subpixels=3), Budget(steps=1)) == 3
    assert "mean of 4 rays, because" in plan(one, long, device="cuda").reasons["rays"]
    assert "subpixels" not in plan(one, Budget(steps=1)).recipe.to_plain()


def test_long_fits_of_finer_photos_have_more_pixels_in_a_step():
    one = scene(train=1, test=0, size=8, ray_samples=None)
    cameras = one.train.cameras.resized(width=800, height=800)
    fine = one.with_photos(dataclasses.replace(one.train, cameras=cameras), None)
    seconds = LONG_SECONDS["pixels"] * fine.points

    def chosen(changed, budget, device="cuda"):
        recipe = plan(changed, budget, device=device).recipe
        return recipe.batch, changed.as_planned(recipe).subpixels

    few, many = RAYS["cuda"], MORE_PIXELS * RAYS["cuda"]
    assert chosen(fine, Budget(seconds=seconds)) == chosen(fine.changed(subpixels=1), Budget(seconds=9e9)) == (many, 1)
    assert chosen(fine, Budget(seconds=0.9 * seconds)) == chosen(fine, Budget(steps=10**6)) == (few, 1)
    assert chosen(fine.changed(subpixels=2), Budget(seconds=9e9)) == (few, 2)
    assert chosen(fine.changed(network="mlp"), Budget(seconds=9e9)) == (few, 1)
    assert chosen(fine, Budget(seconds=9e9), "cpu") == (RAYS["cpu"], 1)
    assert "65,536 pixels" in (reason := plan(fine, Budget(seconds=seconds), device="cuda").reasons["batch"])
    assert "because" in reason


def test_rays_are_sampled_about_once_a_pixel():
    def along(size, device="cuda", given=None):
        one = scene(train=1, test=0, size=8, ray_samples=given)
        cameras = one.train.cameras.resized(width=size, height=size)
        one = one.with_photos(dataclasses.replace(one.train, cameras=cameras), None)
        return one.as_planned(plan(one, device=device).recipe).ray_samples

    assert [along(size) for size in (8, 100, 4000)] == [64, 256, 1024]
    assert [along(size, "cpu") for size in (100, 4000)] == [256, 256]
    assert along(100, given=96) == 96


def test_budgets():
    one = scene(train=2, test=0, size=8)
    assert plan(one, Budget(seconds=15), device="cuda").recipe.seconds == 15
    assert plan(one, Budget(steps=7)).recipe.steps == 7
    assert "no budget was given" in plan(one).reasons["budget"]


def test_networks_without_settings_are_refused_by_name():
    with pytest.raises(ValueError, match=r"layers of one of staf, .*pemlp, got model 'mfn'"):
        plan(scene(train=1, test=0, size=4), model="mfn")


@pytest.mark.parametrize("network", ["grid", "mlp"])
def test_wavelets_are_multiplied_more_exactly(network):
    precisions = {
        model: plan(scene().changed(network=network), Budget(steps=1), device="cuda", model=model).recipe.precision
        for model in ("staf", "wire")
    }
    assert precisions == {"staf": "tf32", "wire": "bf16x3"}
