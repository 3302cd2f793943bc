"""What is measured of a scene beside PSNR, and how its run is repeated."""

from __future__ import annotations

import torch

import staf
from staf.kinds.scene import view as scene_view
from tests.kinds.scene import procedural
from tests.kinds.scene.small import scene


def test_lpips_is_the_mean_over_the_held_out_views(monkeypatch):
    shown = scene(train=2, test=2, size=6, ray_samples=8)
    seen: list[torch.Tensor] = []

    def distance(found, target, *, data_range, model):
        assert (data_range, model) == (1.0, "weights")
        assert found.shape == target.shape == (6, 6, 3)
        assert found.min() >= 0
        assert found.max() <= 1
        seen.append(target)
        return torch.tensor(float(len(seen)))

    monkeypatch.setattr(scene_view, "load_lpips", lambda: "weights")
    monkeypatch.setattr(scene_view, "lpips", distance)

    def predict(points: torch.Tensor) -> torch.Tensor:
        return torch.ones(*points.shape[:-1], 4)

    measure = shown.view.more_measures(predict, "centres", None)["lpips"]
    assert measure() == 1.5
    assert not torch.equal(seen[0], seen[1])


def test_a_scene_of_arrays_cannot_be_repeated_by_a_command():
    view = scene(train=2, test=1, size=6).view
    assert view.command_options({}) is None
    assert view.python({}) == "your_signal"


def test_a_fit_with_missing_photos_is_repeated_without_them(tmp_path):
    folder = procedural.write_blender(tmp_path, train=3, test=1, size=6)
    assert "--skip-missing" not in staf.Scene.read(folder).view.command_options({})
    (folder / "train" / "r_1.png").unlink()
    found = staf.Scene.read(folder, skip_missing=True)
    assert "--skip-missing" in found.view.command_options({})
    again = eval(found.view.python({}), {"staf": staf})
    assert again.train.names == ["train/r_0.png", "train/r_2.png"]
