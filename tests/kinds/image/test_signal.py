from __future__ import annotations

import io
import json

import numpy as np
import PIL.Image
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from staf.kinds import Image, from_metadata
from staf.signals import SignalError
from tests.kinds.pictures import DTYPES, pixels, srgb_profile


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_every_level_survives_values_and_back(dtype):
    levels = np.arange(np.iinfo(dtype).max + 1, dtype=dtype).reshape(16, -1)
    image = Image(levels)
    values = image.values()
    assert values.dtype == torch.float32
    assert (values.min(), values.max()) == (0, 1)
    assert np.array_equal(image.from_values(values).array[..., 0], levels)


@settings(deadline=None)
@given(
    arrays.arrays(
        st.sampled_from([np.dtype(np.uint8), np.dtype(np.uint16)]),
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4)),
    )
)
def test_values_are_the_samples_in_c_order(array):
    image = Image(array)
    assert image.shape == array.shape[:2]
    assert image.out_features == array.shape[2]
    assert image.values().shape == (array.shape[0] * array.shape[1], array.shape[2])
    row, column = array.shape[0] - 1, array.shape[1] // 2
    expected = array[row, column].astype(np.float64) / np.iinfo(array.dtype).max
    np.testing.assert_allclose(image.values()[row * array.shape[1] + column].numpy(), expected, rtol=1e-6)
    assert np.array_equal(image.from_values(image.values()).array, array)


def test_coordinates_follow_the_pixels():
    image = Image(pixels(3, 5))
    assert torch.equal(image.coordinates()[7], torch.tensor([0.0, 0.0]))
    assert torch.equal(image.coordinates("ends", torch.tensor([0, 14])), torch.tensor([[-1.0, -1.0], [1.0, 1.0]]))


def test_floats_are_used_as_they_are_with_their_range_recorded():
    array = np.array([[-2.0, 0.5], [3.0, 1.0]], dtype=np.float32)
    image = Image(array)
    assert image.value_range == (-2.0, 3.0)
    assert image.data_range == 5.0
    assert image.values().squeeze(1).tolist() == [-2.0, 0.5, 3.0, 1.0]
    clamped = image.from_values(torch.tensor([[-9.0], [9.0], [0.0], [1.5]]))
    assert clamped.array.ravel().tolist() == [-2.0, 3.0, 0.0, 1.5]
    assert clamped.value_range == image.value_range
    assert Image(np.full((2, 2), 0.25, np.float32)).value_range == (0.0, 1.0)


def test_values_do_not_share_memory_with_the_pixels():
    image = Image(pixels(dtype=np.float32))
    before = image.array.copy()
    image.values().zero_()
    assert np.array_equal(image.array, before)


def test_from_values_clamps_rounds_and_keeps_profile_and_depth():
    image = Image(pixels(2, 2, 1), name="a", profile=srgb_profile())
    out = image.from_values(torch.tensor([[-1.0], [2.0], [0.4999 / 255], [0.5001 / 255]]))
    assert out.array.ravel().tolist() == [0, 255, 0, 1]
    assert (out.name, out.profile, out.dtype) == ("a", image.profile, np.uint8)
    assert image.from_values(torch.zeros(6, 1), shape=(2, 3)).shape == (2, 3)
    with pytest.raises(SignalError, match=r"values must have shape \(4, 1\)"):
        image.from_values(torch.zeros(4, 3))
    with pytest.raises(SignalError, match="NaN"):
        image.from_values(torch.full((4, 1), float("nan")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_metadata_rebuilds_an_empty_image_that_renders_alike(dtype, channels):
    image = Image(pixels(4, 6, channels, dtype) * (3 if dtype is np.float32 else 1), name="naïve photo")
    plain = json.loads(json.dumps(image.metadata()))
    empty = from_metadata(plain)
    assert empty.metadata() == image.metadata()
    values = torch.rand(24, channels)
    assert np.array_equal(empty.from_values(values).array, image.from_values(values).array)
    with pytest.raises(SignalError, match="holds no pixels"):
        empty.values()
    assert empty._repr_png_() is None


def test_metadata_carries_the_profile_through_json():
    profile = srgb_profile()
    plain = json.loads(json.dumps(Image(pixels(), profile=profile).metadata()))
    assert Image.from_metadata(plain).profile == profile


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "audio"},
        {"shape": [0, 4]},
        {"shape": [4]},
        {"channels": 7},
        {"dtype": "object"},
        {"value_range": [1.0, 0.0]},
        {"value_range": [0.0, float("nan")]},
        {"profile": "not base64!"},
        {"name": None, "notes": None},
    ],
)
def test_malformed_metadata_is_refused(change):
    with pytest.raises(SignalError, match=r"metadata|kind"):
        from_metadata({**Image(pixels(2, 2)).metadata(), **change})


def test_metadata_that_lacks_a_key_is_refused():
    metadata = Image(pixels(2, 2)).metadata()
    del metadata["dtype"]
    with pytest.raises(SignalError, match="dtype"):
        Image.from_metadata(metadata)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 4), np.uint8), "at least one pixel"),
        (np.zeros((4, 4, 0), np.uint8), "at least one pixel"),
        (np.zeros(4, np.uint8), r"shape \(h, w\) or \(h, w, c\)"),
        (np.zeros((1, 4, 4, 3), np.uint8), r"shape \(h, w\) or \(h, w, c\)"),
        (np.zeros((4, 4, 5), np.uint8), "1 to 4 channels, got 5"),
        (np.zeros((3, 40, 50), np.uint8), "channels come last"),
        (np.zeros((4, 4), np.int64), "got int64"),
        (np.zeros((4, 4), np.complex64), "got complex64"),
        (np.full((4, 4), np.nan), "NaN or Inf"),
        (np.full((4, 4), np.inf, np.float32), "NaN or Inf"),
        (np.full((4, 4), 1e300), "float32"),
        ([[1, 2]], "must be a numpy array, got list"),
    ],
)
def test_arrays_that_are_no_images_are_refused(array, message):
    with pytest.raises(SignalError, match=message):
        Image(array)


def test_bool_and_other_floats_are_converted_and_said():
    mask = Image(np.array([[True, False]]))
    assert mask.array.ravel().tolist() == [255, 0]
    assert "two-level" in mask.notes[0]
    double = Image(np.array([[0.1, 0.2]]))
    assert double.dtype == np.float32
    assert "float64" in double.notes[0]


def test_foreign_byte_order_and_strides_are_read_right():
    array = pixels(6, 8, 3, np.uint16)
    assert np.array_equal(Image(array.astype(">u2")).array, array)
    assert np.array_equal(Image(array[::2, ::-1]).array, array[::2, ::-1])


def test_alpha_is_said():
    assert Image(pixels(channels=4)).notes == ["alpha is fitted as channel 4, like a colour"]
    assert Image(pixels(channels=3)).notes == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_to_pil_shows_eight_bits(channels, mode, dtype):
    picture = Image(pixels(channels=channels, dtype=dtype), profile=srgb_profile()).to_pil()
    assert (picture.mode, picture.size) == (mode, (53, 37))
    assert picture.getextrema() is not None
    expected = np.rint(pixels(channels=channels, dtype=np.float32) * 255)
    assert np.abs(np.asarray(picture).reshape(expected.shape) - expected).max() <= 1
    assert picture.info["icc_profile"] == srgb_profile()


def test_notebooks_get_a_png_of_bounded_size():
    shown = PIL.Image.open(io.BytesIO(Image(pixels(30, 3000, 1))._repr_png_()))
    assert shown.format == "PNG"
    assert shown.size == (1024, 10)


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (1, 20000)])
def test_extreme_shapes_work(shape):
    image = Image(np.full((*shape, 3), 7, np.uint8))
    assert image.from_values(image.values()).array.min() == 7
    assert image.coordinates("ends").shape == (shape[0] * shape[1], 2)
    assert torch.isfinite(image.coordinates("ends")).all()
