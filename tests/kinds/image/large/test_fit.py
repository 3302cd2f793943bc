"""Large images from the file to the fit: opened as a map, planned, trained, measured in bands, saved."""

from __future__ import annotations

import numpy as np
import PIL.Image
import pytest
import tifffile
import torch

import staf
from staf.kinds.image import signal as image_signal
from staf.kinds.image.large import reading
from staf.kinds.image.large.task import LargeReconstruction
from staf.planning import capacity


@pytest.fixture
def everything_is_large(monkeypatch, tmp_path):
    """What happens to pictures of many megapixels, for small ones."""
    monkeypatch.setattr(image_signal, "LARGE_PIXELS", 1000)
    monkeypatch.setattr(reading, "MAPPED_PIXELS", 1000)
    monkeypatch.setattr(capacity, "HOLDS", 0.01)
    monkeypatch.setitem(capacity.BATCH, "cpu", 512)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def picture(height=48, width=64):
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 6) * np.cos(y / 9), np.cos(x / 11), np.sin((x + y) / 8)]
    return np.stack([127 + 100 * wave for wave in waves], -1).astype(np.uint8)


@pytest.mark.parametrize("suffix", ["png", "tif", "jpg"])
def test_files_are_opened_as_maps_with_the_pixels_of_the_whole_readers(everything_is_large, tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "tif":
        tifffile.imwrite(path, picture(), photometric="rgb", rowsperstrip=5)
    else:
        PIL.Image.fromarray(picture()).save(path)
    image = staf.open(path)
    assert isinstance(image.array.base, np.memmap)
    assert (image.name, image.source) == ("a", str(path))
    assert np.array_equal(image.array, np.asarray(PIL.Image.open(path)))
    PIL.Image.fromarray(picture()[:10, :10]).save(tmp_path / "small.png")
    assert not isinstance(staf.open(tmp_path / "small.png").array.base, np.memmap)


def test_pictures_that_need_a_conversion_are_opened_whole(everything_is_large, tmp_path):
    PIL.Image.fromarray(picture()).convert("P").save(tmp_path / "a.png")
    image = staf.open(tmp_path / "a.png")
    assert image.out_features == 3
    assert any("palette" in note for note in image.notes)


def test_the_default_fit_of_a_large_picture(everything_is_large, tmp_path):
    PIL.Image.fromarray(picture()).save(tmp_path / "a.png")
    fit = staf.fit(tmp_path / "a.png", steps=200, device="cpu", progress=False)
    assert isinstance(fit.task, LargeReconstruction)
    assert fit.module.architecture["name"] == "ngp"
    assert fit.module.architecture["arguments"]["activation"] == "staf"
    assert "cannot hold 9,216 values" in fit.plan.reasons["capacity"]
    assert fit.metrics["psnr"] > 30
    expected = fit.field.render().array
    assert np.abs(fit.reconstruction.array.astype(int) - expected.astype(int)).max() <= 1
    fit.save(tmp_path / "field.safetensors")
    at = torch.rand(20, 2) * 2 - 1
    torch.testing.assert_close(staf.load(tmp_path / "field.safetensors")(at), fit.field(at))


def test_the_same_seed_gives_the_same_bits(everything_is_large):
    image = staf.Image(picture())
    first, second, third = (
        staf.fit(image, steps=20, seed=seed, device="cpu", progress=False).module.encoding.table for seed in (0, 0, 1)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_an_interrupted_fit_is_resumed_with_the_same_bits(everything_is_large, tmp_path):
    image, path = staf.Image(picture()), tmp_path / "checkpoint.safetensors"

    def interrupt(state):
        if state.step == 7:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGINT)

    whole = staf.fit(image, steps=20, device="cpu", progress=False)
    with pytest.raises(staf.Interrupted):
        staf.fit(image, steps=20, device="cpu", progress=False, callbacks=interrupt, checkpoint=path)
    resumed = staf.fit(image, steps=20, device="cpu", progress=False, resume=path)
    assert resumed.result.steps == 20
    assert torch.equal(resumed.module.encoding.table, whole.module.encoding.table)


def test_a_network_without_a_grid_is_trained_by_mini_batches_too(everything_is_large):
    field = staf.siren(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0))
    recipe = staf.recipes.default(steps=30).replace(batch=256)
    fit = staf.fit(staf.Image(picture()), field, recipe, device="cpu", progress=False)
    assert fit.history.loss[-1] < fit.history.loss[0]
    assert set(fit.metrics) == {"psnr", "ssim"}


@pytest.mark.gpu
def test_a_large_picture_is_fitted_on_a_gpu():
    y, x = np.mgrid[:2100, :2100]
    waves = [np.sin(x / 30) * np.cos(y / 50), np.cos(x / 70), np.sin((x + y) / 40)]
    image = staf.Image(np.stack([127 + 100 * wave for wave in waves], -1).astype(np.uint8))
    fit = staf.fit(image, steps=400, device="cuda", progress=False)
    assert isinstance(fit.task, LargeReconstruction)
    assert not [note for note in fit.notes if "captured" in note]
    assert fit.metrics["psnr"] > 40
    assert torch.cuda.max_memory_allocated() < 8 * 2**30
