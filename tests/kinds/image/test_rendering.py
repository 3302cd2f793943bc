from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import staf.kinds
from staf.kinds import Image
from staf.signals import SignalError, output_grid, render_grid
from staf.signals.grid import CONVENTIONS
from staf.signals.rendering import render_bands
from tests.kinds.pictures import pixels


def ramps(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[:, 0], x[:, 1], x[:, 0] * x[:, 1]], dim=-1) / 2 + 0.5


def lookup(image: Image, convention: str):
    """A field that knows the image's own samples and nothing between them."""
    table = {tuple(x): value for x, value in zip(image.coordinates(convention).tolist(), image.values(), strict=True)}
    return lambda x: torch.stack([table[tuple(point)] for point in x.tolist()])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_own_resolution_gives_the_own_pixels(convention, dtype):
    image = Image(pixels(11, 17, dtype=dtype), name="a")
    drawn = image.render(lookup(image, convention), convention=convention)
    assert np.array_equal(drawn.array, image.array)
    assert drawn.dtype == image.dtype
    part = image.render(lookup(image, convention), convention=convention, crop=(3, 2, 13, 9))
    assert np.array_equal(part.array, image.array[2:9, 3:13])


@pytest.mark.parametrize(
    ("height", "width", "chunk"),
    [(1, 1, 1), (1, 12, 5), (12, 1, 5), (12, 12, 1), (12, 12, 200)]
    + [
        (height, width, chunk) for height in (5, 8) for width in (7, 8) for chunk in range(width - 1, height * width, 4)
    ],
)
def test_chunks_change_nothing(height, width, chunk):
    sizes = []

    def predict(x):
        sizes.append(len(x))
        return ramps(x)

    whole = render_grid(ramps, output_grid((height, width)))
    assert np.array_equal(render_grid(predict, output_grid((height, width)), chunk=chunk), whole)
    assert max(sizes) <= chunk
    assert sum(sizes) == height * width


def test_a_finer_rendering_averages_to_the_coarser_one():
    coarse = render_grid(ramps, output_grid((6, 9)))
    fine = render_grid(ramps, output_grid((6, 9), scale=4))
    blocks = fine.reshape(6, 4, 9, 4, 3).mean((1, 3))
    np.testing.assert_allclose(blocks, coarse, atol=1e-6)


def test_a_crop_of_a_finer_rendering_is_a_finer_rendering_of_the_crop():
    fine = render_grid(ramps, output_grid((6, 9), scale=4))
    part = render_grid(ramps, output_grid((6, 9), scale=4, crop=(2, 1, 7, 5)))
    np.testing.assert_allclose(part, fine[4:20, 8:28], atol=1e-6)


def test_sizes():
    assert output_grid((100, 200), size=(30, 20)).shape == (20, 30)
    assert output_grid((100, 200), scale=0.001).shape == (1, 1)
    assert output_grid((100, 200), crop=(10, 20, 60, 40), scale=1.5).shape == (30, 75)
    assert output_grid((100, 200), crop=(10.25, 20, 10.5, 40), size=(5, 5)).axes[1].min() > 2 * 10.25 / 200 - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"crop": (5, 0, 5, 4)}, "crop must be"),
        ({"crop": (-1, 0, 5, 4)}, "crop must be"),
        ({"crop": (0, 0, 11, 4)}, "inside 10x8 pixels"),
        ({"crop": (0, 0, 0.5, 4), "convention": "ends"}, "at least one pixel under the 'ends' convention"),
        ({"size": (0, 4)}, "size must be"),
        ({"scale": 0.0}, "scale must be a positive number, got 0.0"),
        ({"scale": float("nan")}, "scale must be a positive number"),
        ({"scale": float("inf")}, "scale must be a positive number"),
        ({"scale": "2"}, "scale must be a positive number, got '2'"),
        ({"scale": 2.0, "size": (4, 4)}, "size and scale exclude each other"),
    ],
)
def test_bad_views_are_refused(arguments, message):
    with pytest.raises(SignalError, match=message):
        output_grid((8, 10), **arguments)


def test_fields_that_return_nonsense_are_refused():
    image = Image(pixels(4, 5))
    with pytest.raises(SignalError, match=r"predict must return values of shape \(20, c\), got \(20,\)"):
        image.render(lambda x: x[:, 0])
    with pytest.raises(SignalError, match="NaN"):
        image.render(lambda x: ramps(x) * float("nan"))
    with pytest.raises(SignalError, match="chunk must be at least 1"):
        image.render(ramps, chunk=0)


def test_rendering_records_no_gradient_and_changes_no_mode():
    weight = torch.ones(1, requires_grad=True)
    seen = []

    def predict(x):
        seen.append((x * weight).requires_grad)
        return ramps(x)

    render_grid(predict, output_grid((3, 3)))
    assert seen == [False]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy", ".webp"])
def test_files_hold_what_render_gives(tmp_path, suffix, dtype):
    image = Image(pixels(20, 30, dtype=dtype))
    path = image.render_file(ramps, tmp_path / f"a{suffix}", scale=3, crop=(1, 2, 29, 19), chunk=100)
    drawn = image.render(ramps, scale=3, crop=(1, 2, 29, 19))
    expected = staf.kinds.open(drawn.save(tmp_path / f"b{suffix}"))
    assert np.array_equal(staf.kinds.open(path).array, expected.array)
    assert expected.shape == (51, 84)


def test_a_format_that_cannot_hold_it_is_refused_before_any_work(tmp_path):
    def never(x):
        raise AssertionError("evaluated")

    with pytest.raises(SignalError, match="WebP holds at most 16383"):
        Image(pixels(4, 4)).render_file(never, tmp_path / "a.webp", scale=5000)
    with pytest.raises(SignalError, match="JPEG holds no alpha"):
        Image(pixels(4, 4, 4)).render_file(never, tmp_path / "a.jpg")


MEASURED = """
import json, sys
import numpy as np, torch
from staf.kinds import Image; from staf.signals import output_grid, render_grid
from tests.peak_memory import peak_mebibytes as peak

def ramps(x):
    return torch.stack([x[:, 0], x[:, 1], x[:, 0] * x[:, 1]], dim=-1) / 2 + 0.5

image = Image(np.zeros((1000, 1000, 3), np.uint8))
path, scale = sys.argv[1], float(sys.argv[2])
image.render_file(ramps, path, scale=0.3)
warm = peak()
image.render_file(ramps, path, scale=scale)
streamed = peak()
array = render_grid(ramps, output_grid(image.shape, scale=scale), encode=image.encode)
print(json.dumps({"streamed": streamed - warm, "whole": peak() - warm, "array": array.nbytes / 2**20}))
"""


@pytest.mark.parametrize(("suffix", "scale", "size"), [(".png", 4, 45.8), (".tif", 4, 45.8)])
def test_large_pictures_are_drawn_in_bounded_memory(tmp_path, suffix, scale, size):
    """Growth of the peak resident memory, in MiB, by streaming RGB to a file and by rendering it into an array.

    Scale 4 is 4,000 x 4,000 pixels. Streaming was measured to add 8 MiB, which the bound leaves room around.
    """
    command = [sys.executable, "-c", MEASURED, str(tmp_path / f"a{suffix}"), str(scale)]
    grown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown["array"] == pytest.approx(size, abs=0.1)
    assert grown["streamed"] < 32
    assert grown["array"] - 32 < grown["whole"] < grown["array"] + 32


def test_a_predict_that_uses_its_memory_again_draws_every_band():
    buffer = torch.empty(6, 3)

    def predict(x):
        return buffer[: len(x)].copy_(ramps(x))

    assert np.array_equal(render_grid(predict, output_grid((4, 6)), chunk=6), render_grid(ramps, output_grid((4, 6))))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_a_gpu_draws_the_same_pixels(dtype, tmp_path):
    image = Image(pixels(40, 64, dtype=dtype))
    expected = image.render(ramps, scale=5)
    for chunk in (None, 1000, 77):
        drawn = image.render(ramps, scale=5, device="cuda", chunk=chunk)
        assert drawn.dtype == image.dtype
        np.testing.assert_allclose(drawn.array.astype(float), expected.array.astype(float), atol=1e-6)
    path = image.render_file(ramps, tmp_path / "a.npy", scale=5, device="cuda", chunk=1000)
    np.testing.assert_allclose(np.load(path).astype(float), expected.array.astype(float), atol=1e-6)
    with pytest.raises(SignalError, match="NaN"):
        image.render(lambda x: ramps(x) * float("nan"), device="cuda")


@pytest.mark.gpu
def test_a_gpu_has_started_the_next_band_when_one_is_waited_for():
    events = []

    def encode(values):
        number = sum(kind == "started" for kind, _ in events)
        events.append(("started", number))
        return lambda: events.append(("awaited", number)) or values.cpu().numpy()

    list(render_bands(ramps, output_grid((3, 4)), encode=encode, chunk=4, device="cuda"))
    assert events[:3] == [("started", 0), ("started", 1), ("awaited", 0)]
