"""The task of a large image is that of a small one: the same batches, losses and measures, in other memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.kinds.image.large import measures
from staf.kinds.image.large import task as large_task
from staf.kinds.image.large.measures import measure
from staf.kinds.image.large.task import LargeReconstruction
from staf.kinds.image.large.tiles import TilePool
from staf.kinds.image.signal import Image
from staf.nn import siren
from staf.tasks.reconstruction import Reconstruction


def image(shape=(37, 53, 3), dtype=np.uint8, seed=0):
    values = np.random.default_rng(seed).random(shape)
    smooth = (values + np.sin(np.linspace(0, 9, shape[1]))[None, :, None] + 1) / 3
    return Image(
        smooth.astype(dtype) * 3 - 1 if np.dtype(dtype).kind == "f" else (smooth * np.iinfo(dtype).max).astype(dtype)
    )


def field(outputs=3):
    return siren(2, outputs, width=8, depth=2, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("convention", ["centres", "ends"])
def test_batches_are_those_of_the_ordinary_task(dtype, convention):
    picture = image(dtype=dtype)
    large, small = LargeReconstruction(picture, convention), Reconstruction(picture, convention)
    assert (large.points, large.in_features, large.out_features) == (small.points, 2, 3)
    for index in (None, torch.tensor([0, 7, 1960])):
        for found, expected in zip(large.batch(index), small.batch(index), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    module = field()
    batch = large.batch(torch.arange(50))
    torch.testing.assert_close(large.loss(module, batch), small.loss(module, batch))
    assert large.metadata() == small.metadata()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("band", [53, 53 * 4, 53 * 30, 10**6])
def test_measures_are_those_of_the_ordinary_task(dtype, band, monkeypatch):
    monkeypatch.setattr(measures, "BAND_PIXELS", band)
    picture, module = image(dtype=dtype), field()
    large, small = LargeReconstruction(picture), Reconstruction(picture)
    found, expected = large.evaluate(module), small.evaluate(module)
    assert found["psnr"] == pytest.approx(expected["psnr"], rel=1e-6)
    assert found["ssim"] == pytest.approx(expected["ssim"], rel=1e-6)
    assert np.array_equal(large.reconstruction.array, small.reconstruction.array)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 40, 1), (40, 3, 2), (11, 11, 3)])
def test_measures_of_tiny_images(shape):
    picture, module = image(shape), field(shape[2])
    found = LargeReconstruction(picture).evaluate(module)
    assert found == pytest.approx(Reconstruction(picture).evaluate(module), rel=1e-6)


def test_the_map_of_the_error_has_the_roots_of_mean_squares(monkeypatch):
    monkeypatch.setattr(measures, "MAP_SIDE", 14)
    monkeypatch.setattr(measures, "BAND_PIXELS", 53 * 5)
    picture = image((37, 53, 1))
    found = measure(lambda x: torch.zeros(len(x), 1), picture.array, picture.encode)
    assert found.error.shape == (10, 14)
    squares = (picture.array[..., 0] / 255.0) ** 2
    assert found.error[0, 0] == pytest.approx(squares[:4, :4].mean() ** 0.5, rel=1e-6)
    assert found.error[-1, -1] == pytest.approx(squares[36:, 52:].mean() ** 0.5, rel=1e-6)
    assert found.psnr == pytest.approx(-10 * np.log10(squares.mean()), rel=1e-6)


def test_ssim_of_huge_images_is_not_measured(monkeypatch):
    monkeypatch.setitem(large_task.SIMILAR_PIXELS, "cpu", 37 * 53 - 1)
    assert list(LargeReconstruction(image()).evaluate(field())) == ["psnr"]


def test_what_is_not_a_number_gives_no_reconstruction():
    task = LargeReconstruction(image())
    found = task.evaluate(lambda x: torch.full((len(x), 3), float("nan")))
    assert np.isnan(found["psnr"])
    assert task.reconstruction is None


def test_progress_of_the_pass_ends_at_one(monkeypatch):
    monkeypatch.setattr(measures, "BAND_PIXELS", 53 * 10)
    told = []
    picture = image()
    measure(lambda x: torch.zeros(len(x), 3), picture.array, picture.encode, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) == 4


def test_reconstructions_beyond_the_memory_lie_in_a_file(monkeypatch):
    monkeypatch.setattr(measures, "MEMORY_BYTES", 100)
    task = LargeReconstruction(image())
    task.evaluate(field())
    small = Reconstruction(image())
    small.evaluate(field())
    assert isinstance(task.reconstruction.array.base, np.memmap)
    assert np.array_equal(task.reconstruction.array, small.reconstruction.array)


def test_a_pool_of_tiles_gives_batches_of_the_image_and_turns():
    picture = image((60, 80, 3))
    task = LargeReconstruction(picture)
    task._pool = TilePool(picture.array, 3 * 400 * 3, "cpu", side=20)
    assert task.points == 3 * 400
    batches = task.batches(64, torch.Generator().manual_seed(0))
    whole = Reconstruction(picture)
    seen = set()
    index, weight = torch.zeros(20, 64, dtype=torch.long), torch.zeros(20, 64)
    for _ in range(30):
        batches.fill(index, weight)
        batch = task.batch(index[3], weight[3])
        rows = ((batch.coordinates[:, 0].double() + 1) * 30 - 0.5).round().long()
        columns = ((batch.coordinates[:, 1].double() + 1) * 40 - 0.5).round().long()
        assert torch.allclose(batch.target, whole.target[rows * 80 + columns])
        seen |= {(int(r) // 20, int(c) // 20) for r, c in zip(rows, columns, strict=True)}
    assert len(seen) == 12


def test_the_observation_is_small_and_tells_images_apart():
    large = LargeReconstruction(image((1000, 1500, 1)))
    assert large.observation.shape == (1, 334, 500)
    other = LargeReconstruction(image((1000, 1500, 1), seed=1))
    assert not torch.equal(large.observation, other.observation)


@pytest.mark.gpu
def test_on_a_gpu_the_samples_are_integers_or_a_pool():
    for dtype in (np.uint8, np.uint16):
        picture = image((60, 80, 3), dtype=dtype)
        task = LargeReconstruction(picture).to("cuda")
        expected = Reconstruction(picture).batch(torch.arange(100))
        for found, true in zip(task.batch(torch.arange(100, device="cuda")), expected, strict=True):
            torch.testing.assert_close(found.cpu(), true, rtol=1e-6, atol=1e-7)
        pooled = LargeReconstruction(picture, device_bytes=60 * 80 * 3 * picture.array.itemsize - 1)
        with pytest.raises(ValueError, match="most_bytes"):
            pooled.to("cuda")
    huge = Image(np.zeros((1100, 2100), np.uint8))
    task = LargeReconstruction(huge, device_bytes=10**6).to("cuda")
    assert task.points < 10**6
    assert task.batch(torch.arange(10, device="cuda")).target.is_cuda
