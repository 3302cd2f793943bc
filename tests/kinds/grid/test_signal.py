from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Grid, Image
from staf.signals import SignalError
from staf.signals.grid import CONVENTIONS

SHAPES = [(30,), (12, 9), (5, 6, 7), (3, 4, 5, 6)]
DTYPES = ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"]


def samples(shape, dtype="float32"):
    generator = np.random.default_rng(0)
    if np.dtype(dtype).kind == "f":
        return generator.normal(3, 2, shape).astype(dtype)
    return (generator.random(shape) * (2 if dtype == "bool" else 100)).astype(dtype)


def lookup(grid, convention):
    """A field that knows the grid's own samples and nothing between them."""
    places = grid.coordinates(convention).tolist()
    table = {tuple(x): value for x, value in zip(places, grid.values(), strict=True)}
    return lambda x: torch.stack([table[tuple(point)] for point in x.tolist()])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dimension_and_type_comes_back(shape, dtype):
    array = samples(shape, dtype)
    grid = Grid(array, channels=False)
    assert (grid.shape, grid.in_features, grid.out_features) == (shape, len(shape), 1)
    assert np.asarray(grid) is array or np.array_equal(np.asarray(grid), array)
    again = grid.from_values(grid.values())
    # Values are float32, which float64 samples are rounded to.
    exact = array if dtype != "float64" else np.clip(array.astype(np.float32).astype(dtype), *grid.value_range)
    assert np.array_equal(np.asarray(again), exact)
    assert np.asarray(again).dtype == array.dtype
    empty = Grid.from_metadata(grid.metadata())
    assert empty.metadata() == grid.metadata()
    assert np.array_equal(np.asarray(empty.from_values(grid.values())), exact)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("channels", [1, 2, 5, 40])
def test_channels(shape, channels):
    array = samples((*shape, channels), "int16")
    grid = Grid(array, channels=True)
    assert (grid.shape, grid.out_features) == (shape, channels)
    assert np.array_equal(grid.values().numpy(), array.reshape(-1, channels).astype(np.float32))
    assert np.array_equal(np.asarray(grid.from_values(grid.values())), array)


def test_the_rule_for_channels_is_told():
    assert Grid(samples((8, 9, 5))).out_features == 5
    assert "read as 8x9 samples of 5 channels: channels=False" in Grid(samples((8, 9, 5))).notes[0]
    assert Grid(samples((8, 9, 17))).shape == (8, 9, 17)
    assert "read as a volume of one channel: channels=True" in Grid(samples((8, 9, 17))).notes[0]
    assert Grid(samples((3, 4, 5, 20))).shape == (3, 4, 5, 20)
    assert Grid(samples((3, 4, 5, 2, 7))).shape == (3, 4, 5, 2)
    assert Grid(samples((8, 5))).out_features == 1
    assert Grid(samples((8, 5)), channels=True).shape == (8,)
    assert Grid(samples((8, 9, 5))).with_channels(False).notes == []


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_own_resolution_gives_the_own_samples(shape, convention):
    grid = Grid(samples((*shape, 2), "int16"), channels=True)
    drawn = grid.render(lookup(grid, convention), convention=convention, chunk=7)
    assert np.array_equal(np.asarray(drawn), np.asarray(grid))
    crop = [(1, size - 1) for size in shape]
    part = grid.render(lookup(grid, convention), convention=convention, crop=crop)
    assert np.array_equal(np.asarray(part), np.asarray(grid)[tuple(slice(1, size - 1) for size in shape)])


def test_any_size_and_scale(tmp_path):
    grid = Grid(samples((4, 6, 20)), name="v")

    def predict(x):
        return x[:, :1] + 10 * x[:, 1:2] + 100 * x[:, 2:]

    grid._value_range = (-200.0, 200.0)
    assert grid.render(predict, scale=2).shape == (8, 12, 40)
    assert grid.render(predict, size=(2, 3, 5)).shape == (2, 3, 5)
    whole = np.asarray(grid.render(predict, scale=3))
    assert whole[0, 0, 0] == pytest.approx(-(11 / 12) - 10 * 17 / 18 - 100 * 59 / 60, abs=1e-4)
    path = grid.render_file(predict, tmp_path / "big.npy", scale=3, chunk=11)
    assert np.array_equal(np.load(path), whole)
    for arguments, message in [
        ({"scale": 0}, "scale must be a positive number"),
        ({"size": (2, 3)}, "size must be 3 whole numbers"),
        ({"crop": [(0, 4), (0, 9), (0, 20)]}, "crop must be a"),
        ({"crop": [(0, 4)]}, "crop must be a"),
        ({"size": (1, 1, 1), "scale": 2}, "exclude each other"),
    ]:
        with pytest.raises(SignalError, match=message):
            grid.render(predict, **arguments)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_grid_of_any_dimension_is_planned_fitted_and_loaded(shape, tmp_path):
    grid = Grid(samples(shape), channels=False, name="g")
    fit = staf.fit(grid, steps=3, progress=False)
    assert set(fit.metrics) == {"psnr"}
    loaded = staf.load(fit.save(tmp_path / "g.safetensors"))
    assert np.array_equal(np.asarray(loaded.render()), np.asarray(fit.reconstruction))
    low, high = grid.value_range
    assert np.asarray(fit.reconstruction).min() >= low
    assert np.asarray(fit.reconstruction).max() <= high


def test_psnr_is_measured_with_the_range_as_the_peak():
    array = samples((20, 20, 20)) * 50
    grid = Grid(array)
    wrong = torch.from_numpy(array).reshape(-1, 1) + 0.1 * (array.max() - array.min())
    low, high = grid.value_range
    task = grid.task()
    values = iter([(wrong.clamp(low, high) - low) / (high - low)])
    measures = task.evaluate(lambda x: next(values))
    assert measures["psnr"] == pytest.approx(20, abs=0.1)


def test_derivatives_are_per_sample():
    assert Grid(samples((4, 6, 20))).coordinate_units() == (2.0, 3.0, 10.0)
    grid = Grid(np.linspace(0, 9, 10))
    field = staf.siren(1, 1, width=32, depth=2, omega0=1.0, hidden_omega0=1.0, generator=torch.Generator())
    fit = staf.fit(grid, field, steps=300, progress=False)
    assert float(fit.field.gradient(torch.zeros(1, 1)).squeeze()) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2), np.complex64), "must hold real numbers, got complex64"),
        (np.array(["a"]), "must hold numbers"),
        (np.float32(3), "1 to 4 axes"),
        (np.zeros((1,) * 6), "1 to 4 axes"),
        (np.zeros((3, 0)), "at least one sample"),
        (np.array([1.0, np.nan]), "NaN or Inf"),
        (np.array([1.0, np.inf]), "NaN or Inf"),
        (np.array([1e300]), "must fit in float32"),
    ],
)
def test_what_is_no_grid(array, message):
    with pytest.raises(SignalError, match=message):
        Grid(array)


def test_channels_that_cannot_be():
    with pytest.raises(SignalError, match="channels must not be True for an array of one axis"):
        Grid(np.zeros(3), channels=True)
    with pytest.raises(SignalError, match="channels must be True, False or None, got 'none'"):
        Grid(np.zeros((3, 4, 5)), channels="none")
    with pytest.raises(SignalError, match="1 to 4 axes besides"):
        Grid(np.zeros((2, 2, 2, 2, 2)), channels=False)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [0]},
        {"shape": [1] * 5},
        {"dtype": "object"},
        {"dtype": "no"},
        {"value_range": [1, 1]},
        {"channels": 3},
    ],
    ids=str,
)
def test_metadata_of_strangers(change):
    metadata = {**Grid(np.zeros((2, 3, 4))).with_channels(False).metadata(), **change}
    with pytest.raises(SignalError, match="metadata"):
        Grid.from_metadata(metadata)


def test_constants_and_small_variations_are_told():
    assert Grid(np.full((3, 3), 7.0)).value_range == (7.0, 8.0)
    assert "every sample has the same value" in Grid(np.full((3, 3), 7.0)).notes
    assert "subtract an offset" in Grid(1e6 + np.arange(9.0)).notes[0]
    big = Grid(np.array([0, 2**63 - 1], np.int64))
    assert np.asarray(big.from_values(big.values()))[1] > 2**62


def test_every_kind_is_an_array(tmp_path):
    import matplotlib.pyplot as plt

    image = Image(samples((6, 7, 3), "uint8"))
    assert np.array_equal(np.asarray(image), image.array)
    shown = plt.figure().subplots().imshow(image)
    assert shown.get_array().shape == (6, 7, 3)
    audio = staf.Audio(samples((9, 2)) / 20, rate=8)
    assert np.asarray(audio, np.float64).dtype == np.float64
    assert np.array_equal(np.asarray(audio), audio.array)
    ball = staf.Shape.sphere(subdivisions=1, resolution=8)
    assert np.asarray(ball).shape == ball.shape
    assert np.asarray(ball).dtype == bool
    with pytest.raises(SignalError, match="no pixels"):
        np.asarray(image.empty())
    copied = np.array(image)
    copied[:] = 0
    assert image.array.any()
