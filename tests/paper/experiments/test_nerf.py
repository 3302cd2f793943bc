"""Scenes as an experiment: packed photos are those of the folder, and protocols are the published ones."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
import torch

from paper.data.folder import fill_data
from paper.data.scenes import ball_scene, open_scene, pack_scene
from paper.experiments.nerf import PUBLISHED, SceneRun, figure, plan_of, prepared, scene_tables, sweep
from paper.report.scene_views import worst_part
from paper.runner import RunResult
from tests.kinds.scene.procedural import write_blender


@pytest.fixture(autouse=True)
def _fresh():
    open_scene.cache_clear()
    yield
    open_scene.cache_clear()


def test_packed_photos_are_those_of_the_folder(tmp_path):
    folder = write_blender(tmp_path / "ball", train=2, test=1, size=8)
    whole = open_scene(str(folder))
    pack_scene(whole, tmp_path / "ball.npz")
    packed = open_scene(str(tmp_path / "ball.npz"))
    assert (packed.name, packed.centre, packed.half) == (whole.name, whole.centre, whole.half)
    assert packed.train.names == whole.train.names
    for one, other in ((packed.train, whole.train), (packed.test, whole.test)):
        assert torch.equal(one.pixels, other.pixels)
        assert torch.equal(one.cameras.poses, other.cameras.poses)


def test_a_folder_of_scenes_is_filled_in(tmp_path):
    write_blender(tmp_path / "one", train=1, test=0, size=4)
    pack_scene(ball_scene(), tmp_path / "two.npz")
    options = argparse.Namespace(scenes=[])
    fill_data(options, "scenes", tmp_path)
    assert options.scenes == [str(tmp_path / "one"), str(tmp_path / "two.npz")]
    options = argparse.Namespace(scenes=[])
    fill_data(options, "scenes", tmp_path / "one")
    assert options.scenes == [str(tmp_path / "one")]
    with pytest.raises(ValueError, match="--data must hold scenes"):
        fill_data(argparse.Namespace(scenes=[]), "scenes", tmp_path / "one" / "train")


def test_the_papers_protocol():
    scene = ball_scene()
    run = SceneRun("ball", "staf", "paper")
    seen = prepared(scene, run)
    assert seen.half == 1.25
    plan = plan_of(seen, run, "cpu")
    recipe = plan.recipe
    assert (recipe.steps, recipe.optimiser, recipe.rate, recipe.schedule.final) == (37_500, "adam", 3e-4, 0.1)
    assert plan.field_factory.arguments["omega0"] == 40
    assert plan_of(seen, SceneRun("ball", "finer", "paper"), "cpu").recipe.rate == 5e-4
    assert plan_of(seen, SceneRun("ball", "siren", "paper", rays=9), "cpu").recipe.batch == 9
    assert prepared(scene, SceneRun("ball", "staf", "grid")).network == "grid"
    wire, gauss = (plan_of(seen, SceneRun("ball", model, "paper"), "cpu") for model in ("wire", "gauss"))
    assert (wire.recipe.rate, gauss.recipe.rate) == (3e-4, 3e-4), "the paper's, not those of our plans"
    wavelet = wire.field_factory.arguments
    assert (wavelet["omega0"], wavelet["sigma"], gauss.field_factory.arguments["sigma"]) == (40, 40, 40)


def test_finers_protocol_has_fewer_smaller_photos_and_wider_layers():
    scene = ball_scene(train=27, test=1, side=400)
    run = SceneRun("ball", "finer", "finer")
    seen = prepared(scene, run)
    assert seen.shape == (25, 200, 200)
    assert seen.test.pixels.shape[1:3] == (200, 200)
    assert plan_of(seen, run, "cpu").field(0).position.layers[1].weight.shape == (182, 182)
    means = scene.train.pixels[3, :2, :2].float().mean((0, 1))
    assert seen.train.pixels[3, 0, 0, 3] == pytest.approx(float(means[3]), abs=0.6)


def test_the_papers_table():
    assert PUBLISHED["lego"]["staf"] == {"psnr": 26.74, "lpips": 0.107}
    assert all(len(row) == 6 for row in PUBLISHED.values())


def test_a_folder_named_after_a_scene_has_the_papers_numbers_beside_it(tmp_path):
    document = {
        "configuration": {"scene": "nerf_lego400", "model": "staf", "protocol": "ours"}, "metrics": {"psnr": 20.0},
        "details": {"steps": 2},
    }  # fmt: skip
    (table,) = scene_tables([RunResult(tmp_path / "0.json", document)])
    assert dict(zip(table.columns, table.rows[0], strict=True))["paper: PSNR (dB)"] == "26.74"


def test_two_scenes_of_one_name_are_refused():
    options = argparse.Namespace(
        scenes=["a/lego", "b/lego"], models=["staf"], protocols=["ours"], seeds=[0], steps=1, seconds=None, rays=8,
        ray_samples=8,
    )  # fmt: skip
    with pytest.raises(ValueError, match="--scenes must differ in name, got 'a/lego' and 'b/lego'"):
        sweep(options)


def test_a_part_of_each_view_is_magnified_where_networks_differ(tmp_path):
    photo = np.zeros((16, 16, 3), np.uint8)
    wrong = photo.copy()
    wrong[9, 5] = 255
    results = []
    for number, (protocol, shown) in enumerate((("ours", wrong), ("finer", np.zeros((8, 8, 3), np.uint8)))):
        np.savez(tmp_path / f"{number}.npz", photo=photo, shown=shown)
        document = {
            "configuration": {"scene": "lego", "model": "staf", "protocol": protocol}, "metrics": {"psnr": 20.0},
            "arrays": [f"{number}.npz"],
        }  # fmt: skip
        results.append(RunResult(tmp_path / f"{number}.json", document))
    rows, columns = worst_part(photo, [wrong])
    assert 9 in range(rows.start, rows.stop)
    assert 5 in range(columns.start, columns.stop)
    drawn = [axes.get_images()[0].get_array().shape[:2] for axes in figure(results).axes]
    assert drawn == [(16, 16), (16, 16), (8, 8), (4, 4), (4, 4), (2, 2)], "views of another size show the same part"
