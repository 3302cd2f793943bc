from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf import ops
from staf.cli import main
from staf.ops.execution import Execution
from tests.kinds.cloud.test_signal import ball, ply

pytest.importorskip("point_cloud_utils")


RECIPE = staf.recipes.default(batch=128).replace(rate=2e-3, matrix_rate=2e-3)


def small(**how) -> torch.nn.Module:
    return staf.siren(3, 1, width=24, depth=2, omega0=5.0, generator=torch.Generator().manual_seed(0), **how)


@pytest.mark.parametrize("network", [staf.siren, staf.staf, staf.finer, staf.gauss])
def test_second_order_gradients_through_the_kernels_are_those_of_the_formula(network):
    task = staf.SignedDistance(staf.PointCloud(*ball(64)))
    batch = task.batch(torch.arange(64))
    field = network(3, 1, width=32, depth=2, generator=torch.Generator().manual_seed(0))
    found = {}
    for name in (None, "reference"):
        with Execution(precision="fp32", backend=name).active(), ops.record_backends() as ran:
            field.zero_grad()
            task.loss(field, batch).backward()
        found[name] = torch.cat([p.grad.flatten().clone() for p in field.parameters()])
        assert ran
    exact = network(3, 1, width=32, depth=2, generator=torch.Generator().manual_seed(0)).double()
    with ops.backend("reference"):
        task.loss(exact, batch._replace(coordinates=batch.coordinates.double())).backward()
    truth = torch.cat([p.grad.flatten() for p in exact.parameters()])
    for name, gradient in found.items():
        assert (gradient - truth).norm() / truth.norm() < 1e-3, name


def test_the_distance_itself_has_almost_no_loss():
    """Of a ball: on the surface, normals, slopes and bounds hold, and nothing but the repulsion is left."""
    points, normals = ball(2000)
    cloud = staf.PointCloud(points, normals)
    task = staf.SignedDistance(cloud)
    radius = 3 / cloud.frame.half
    centre = torch.tensor(cloud.frame.to_field(np.array([[10.0, -5.0, 2.0]])), dtype=torch.float32)

    class Ball(torch.nn.Module):
        def __init__(self, sign: float) -> None:
            super().__init__()
            self.sign = torch.nn.Parameter(torch.tensor(sign))

        def forward(self, x):
            return self.sign * ((x - centre).norm(dim=1, keepdim=True) - radius)

    batch = task.batch(torch.arange(2000))
    right, wrong = (float(task.loss(Ball(sign), batch).detach()) for sign in (1.0, -1.0))
    assert right < 0.02
    assert wrong > 4


def test_places_are_drawn_anew_in_every_step_and_are_kept_in_checkpoints():
    task = staf.SignedDistance(staf.PointCloud(*ball(64)))
    index = torch.arange(64)
    first, second = task.batch(index).coordinates, task.batch(index).coordinates
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[1], second[1])
    assert first.abs().max() <= 1
    again = staf.SignedDistance(staf.PointCloud(*ball(64)))
    (kept,) = again.callbacks()
    kept.load_tensors({"draws": task.draws - 1})
    assert torch.equal(again.batch(index).coordinates, second)


def test_a_ball_is_found_from_its_points():
    cloud = staf.PointCloud(*ball(1500), resolution=24)
    fit = staf.fit(cloud, field=small(), recipe=RECIPE, steps=200, seed=0, progress=False)
    assert fit.metrics["cloud_distance"] < 0.01
    assert fit.metrics["normal_consistency"] > 0.98
    # Distances are in the cloud's own units, and the centre is deep inside.
    places = np.array([[10.0, -5.0, 5.0], [10.0, -5.0, 5.3], [10.0, -5.0, 4.7], [10.0, -5.0, 2.0]])
    on, outside, inside, centre = fit.field(cloud.frame.to_field(places)).flatten().tolist()
    assert (on, outside, inside) == pytest.approx((0, 0.3, -0.3), abs=0.12)
    assert centre < -1.2
    assert np.linalg.norm(fit.reconstruction.mesh.vertices - cloud.frame.centre, axis=1).mean() == pytest.approx(
        3, abs=0.1
    )


def test_with_a_truth_it_is_measured_like_an_occupancy():
    shape = staf.Shape.sphere(resolution=16)
    task = staf.SignedDistance(staf.PointCloud.sampled(shape, 500, resolution=24), truth=shape)
    half = task.signal.frame.half
    measures = task.evaluate(lambda x: x.norm(dim=1, keepdim=True) - 1 / half)
    assert measures["iou"] > 0.97
    assert measures["chamfer"] < 1e-3
    assert measures["normal_consistency"] > 0.98
    nothing = task.evaluate(lambda x: torch.ones(len(x), 1))
    assert nothing == {"iou": 0.0, "chamfer": float("inf"), "normal_consistency": 0.0}


def test_the_command_line_fits_and_meshes_a_cloud(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cloud.ply").write_bytes(ply(*ball(300), True))
    words = ["fit", "cloud.ply", "--signed-distance", "--resolution", "16", "--steps", "1", "--model", "siren"]
    assert main([*words, "--out", "run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"cloud_distance", "normal_consistency"} <= set(document["metrics"])
    (tmp_path / "points.xyz").write_text("\n".join(" ".join(map(str, row)) for row in ball(300)[0]))
    assert main(["fit", "points.xyz", "--steps", "1"]) == 2
    assert "--estimate-normals" in capsys.readouterr().err
    field = staf.fit(staf.PointCloud(*ball(600), resolution=16), field=small(), recipe=RECIPE, steps=40, progress=False)
    field.save("ball.safetensors")
    assert main(["render", "ball.safetensors", "-o", "ball.obj", "--resolution", "20"]) == 0
    assert main(["render", "ball.safetensors", "-o", "ball.png", "--pixels", "64"]) == 0
    assert main(["export", "ball.safetensors", "-o", "ball.stl"]) == 0
    assert staf.open("ball.obj").mesh.vertices.mean(0) == pytest.approx([10, -5, 2], abs=0.5)
