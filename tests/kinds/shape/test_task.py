from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image, Shape
from staf.kinds.shape import marching
from staf.kinds.shape import task as occupancy
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.task import Occupancy
from staf.metrics import iou, psnr
from staf.tasks import Reconstruction, task_for
from staf.training.task import Task
from tests.kinds.solids import moved, sphere, torus

FAR = moved(torus(), 3.0, (100.0, -20.0, 7.0))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def shape():
    return Shape(FAR, resolution=24)


def test_shapes_are_fitted_by_occupancy(shape):
    assert isinstance(task_for(shape), Occupancy)
    assert isinstance(task_for(shape), Task)
    assert isinstance(task_for(Image(np.zeros((2, 2), np.uint8))), Reconstruction)
    assert task_for(shape, "ends").convention == "ends"


@pytest.mark.parametrize("convention", ["centres", "ends"])
def test_batches_are_the_bits_and_places_of_their_index(shape, convention, generator):
    task = Occupancy(shape, convention)
    index = torch.randint(task.points, (500,), generator=generator)
    batch = task.batch(index)
    assert torch.equal(batch.target, shape.values()[index])
    assert torch.equal(batch.coordinates, shape.coordinates(convention, index))
    assert float(batch.weight.sum()) == pytest.approx(1)
    everything = task.batch(None)
    assert torch.equal(everything.target, shape.values())
    assert torch.equal(everything.coordinates, shape.coordinates(convention))


def test_a_large_volume_is_never_unpacked_for_a_batch():
    task = Occupancy(Shape(sphere(3), resolution=256))
    assert task.points > 15_000_000
    tracemalloc.start()
    batch = task.batch(torch.arange(0, task.points, 40_000))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert 0.4 < float(batch.target.mean()) < 0.6
    assert task.bits.nbytes <= 2**21


def test_the_loss_is_the_weighted_squared_error(shape):
    task = Occupancy(shape)
    batch = task.batch(torch.arange(100), torch.arange(100) / 4950)
    field = torch.nn.Linear(3, 1)
    expected = (batch.weight * (field(batch.coordinates) - batch.target).square()[:, 0]).sum()
    assert task.loss(field, batch).item() == pytest.approx(expected.item())


def test_measures_are_over_every_voxel_of_one_fresh_pass(shape, generator):
    task = Occupancy(shape)
    values = shape.values() * 0.9 + 0.3 * (torch.rand(shape.points, 1, generator=generator) - 0.5)
    flipped = torch.randperm(shape.points, generator=generator)[:50]
    values[flipped] = 1.2 - values[flipped]
    calls = iter(values.split([2**20] * (shape.points // 2**20) + [shape.points % 2**20]))
    measures = task.evaluate(lambda points: next(calls))
    assert measures["iou"] == pytest.approx(float(iou(values > 0.5, shape.values() > 0.5)))
    assert measures["psnr"] == pytest.approx(float(psnr(values.clamp(0, 1), shape.values(), data_range=1.0)), abs=1e-4)
    assert measures["iou"] < 0.99


def test_a_perfect_field_is_near_the_mesh(shape):
    task = Occupancy(shape, "ends")
    lookup = shape.values().reshape(shape.shape)
    size = torch.tensor(shape.shape)

    def predict(points):
        i, j, k = ((points + 1) / 2 * (size - 1)).round().long().unbind(1)
        return lookup[i, j, k][:, None]

    measures = task.evaluate(predict)
    assert (measures["iou"], measures["psnr"]) == (1.0, math.inf)
    # A voxel is 2/24 of the cube; steps of voxels stay within half of one.
    assert measures["chamfer"] < 2 * (0.5 * 2 / 24) ** 2
    assert measures["normal_consistency"] > 0.8


def test_a_field_without_a_surface_is_infinitely_far(shape):
    measures = Occupancy(shape).evaluate(lambda points: torch.zeros(len(points), 1))
    assert measures["iou"] == 0
    assert measures["chamfer"] == math.inf


def test_the_noise_of_an_untrained_field_is_still_counted(shape, generator, monkeypatch):
    monkeypatch.setattr(occupancy, "MAX_FACES", 1000)
    monkeypatch.setattr(marching.march, "__kwdefaults__", {**marching.march.__kwdefaults__, "slab_samples": 2000})
    noise = torch.rand(shape.points, 1, generator=generator)
    measures = Occupancy(shape).evaluate(lambda points: noise)
    assert measures["iou"] == pytest.approx(float(iou(noise > 0.5, shape.values() > 0.5)))
    assert measures["chamfer"] == math.inf


def test_near_surface_sampling_favours_the_surface(shape, generator):
    shape = shape.sampled(48)
    task = Occupancy(shape, near_surface=0.5, band=1, generator=generator)
    near = set(shape.volume.near_surface(1).tolist())
    chosen = task.chosen.tolist()
    assert near <= set(chosen)
    assert len(set(chosen)) == len(chosen) == task.points < shape.points
    assert len(near) / task.points == pytest.approx(0.5, abs=0.02)
    far = task.chosen[~torch.isin(task.chosen, torch.tensor(sorted(near)))]
    assert float(far.double().mean()) == pytest.approx(shape.points / 2, rel=0.05)
    batch = task.batch(torch.arange(task.points))
    assert torch.equal(batch.target, shape.values()[task.chosen])
    assert torch.equal(batch.coordinates, shape.coordinates(index=task.chosen))
    assert Occupancy(shape, near_surface=0.01).points == shape.points
    values = shape.values()
    assert task.evaluate(lambda points: values)["iou"] == 1
    assert task.metadata()["sampling"] == {"near_surface": 0.5, "band": 1, "seed": generator.initial_seed()}
    for share in (0.45, 0.7, 0.9):
        assert len(near) / Occupancy(shape, near_surface=share, band=1).points == pytest.approx(share, abs=0.02)
    with pytest.raises(ValueError, match=r"near_surface must lie between 0 and 1, got 1\.5"):
        Occupancy(shape, near_surface=1.5)


def test_the_observation_is_small():
    task = Occupancy(Shape(sphere(2), resolution=200))
    assert task.observation.shape == (1, 100, 100, 100)
    assert float(task.observation.mean()) == pytest.approx(task.signal.volume.count() / task.points, rel=1e-5)


def test_a_fit_goes_from_file_to_file(tmp_path):
    Shape(moved(sphere(3), 5.0, (10, 0, 0))).save(tmp_path / "ball.ply")
    shape = staf.open(tmp_path / "ball.ply").sampled(20)
    field = staf.siren(3, 1, width=24, depth=2, omega0=5.0, hidden_omega0=5.0, generator=torch.Generator())
    fit = staf.fit(shape, field, staf.recipes.default(steps=80, batch=2048), progress=False)
    assert fit.metrics["iou"] > 0.9
    assert fit.metrics["chamfer"] < 0.01
    found = staf.open(fit.reconstruction.save(tmp_path / "again.glb")).mesh
    assert np.abs(found.bounds[0] - (5, -5, -5)).max() < 0.6
    fit.save(tmp_path / "ball.safetensors")
    loaded = staf.load(tmp_path / "ball.safetensors")
    assert np.array_equal(loaded.render(resolution=15).mesh.vertices, fit.render(resolution=15).mesh.vertices)
    middle = torch.zeros(1, 3)
    assert loaded(middle).item() > 0.5 > loaded(torch.ones(1, 3)).item()


def test_a_mesh_with_faces_the_wrong_way_round_fits_alike(shape):
    turned = Shape(Mesh(FAR.vertices, FAR.faces[:, ::-1]), resolution=24)
    assert torch.equal(Occupancy(turned).batch(None).target, Occupancy(shape).batch(None).target)


@pytest.mark.gpu
def test_a_gpu_reads_the_same_bits(shape):
    index = torch.arange(0, shape.points, 7)
    here, there = Occupancy(shape).batch(index), Occupancy(shape).to("cuda").batch(index.cuda())
    for first, second in zip(here, there, strict=True):
        assert second.is_cuda
        assert torch.equal(first, second.cpu())
