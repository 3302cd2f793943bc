from __future__ import annotations

import numpy as np
import PIL.Image
import pytest
import torch

import staf.kinds
from staf.kinds import Image
from staf.signals import SignalError
from tests.kinds.pictures import pixels, srgb_profile


@pytest.mark.parametrize(("mode", "channels"), [("1", 1), ("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4), ("P", 3),
                                                ("PA", 4), ("La", 2), ("RGBa", 4), ("RGBX", 3), ("CMYK", 3),
                                                ("YCbCr", 3), ("HSV", 3)])  # fmt: skip
def test_every_pillow_mode(mode, channels):
    base = PIL.Image.fromarray(pixels())
    via = {"La": "LA", "RGBa": "RGBA", "PA": "P"}.get(mode)
    picture = (base.convert(via) if via else base).convert(mode)
    image = staf.kinds.open(picture)
    assert image.out_features == channels
    shown = picture.convert({1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels])
    assert np.array_equal(image.array, np.asarray(shown).reshape(image.array.shape))
    plain = mode in ("L", "RGB")
    assert (image.notes == []) == plain


@pytest.mark.parametrize("mode", ["I;16", "I;16B"])
def test_sixteen_bit_pillow_images(mode):
    array = pixels(channels=1, dtype=np.uint16)[..., 0]
    stored = array.astype(">u2" if mode == "I;16B" else "<u2").tobytes()
    image = staf.kinds.open(PIL.Image.frombytes(mode, (53, 37), stored))
    assert image.dtype == np.uint16
    assert np.array_equal(image.array[..., 0], array)


def test_thirty_two_bit_pillow_images():
    levels = np.array([[0, 65535]], np.int32)
    assert staf.kinds.open(PIL.Image.fromarray(levels)).array.ravel().tolist() == [0, 65535]
    with pytest.raises(SignalError, match=r"must lie in \[0, 65535\], got \[-1, 65535\]"):
        staf.kinds.open(PIL.Image.fromarray(levels - np.array([[1, 0]], np.int32)))
    real = np.array([[0.25, -3.5]], np.float32)
    assert np.array_equal(staf.kinds.open(PIL.Image.fromarray(real)).array[..., 0], real)


def test_lab_is_refused():
    with pytest.raises(SignalError, match="got mode 'LAB'"):
        staf.kinds.open(PIL.Image.new("LAB", (2, 2)))


def test_pillow_images_keep_their_profile():
    picture = PIL.Image.fromarray(pixels())
    picture.info["icc_profile"] = srgb_profile()
    assert staf.kinds.open(picture).profile == srgb_profile()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_tensors_have_channels_first_or_last(channels):
    array = pixels(channels=channels)
    last = torch.from_numpy(array)
    assert np.array_equal(staf.kinds.open(last).array, array)
    assert np.array_equal(staf.kinds.open(last.permute(2, 0, 1)).array, array)
    assert np.array_equal(staf.kinds.open(last.permute(2, 0, 1), layout="chw").array, array)
    assert np.array_equal(staf.kinds.open(array.transpose(2, 0, 1), layout="chw").array, array)


def test_ambiguous_tensors_must_say_their_layout():
    tensor = torch.arange(4 * 5 * 3, dtype=torch.uint8).reshape(4, 5, 3)
    with pytest.raises(SignalError, match="layout='chw' or layout='hwc'"):
        staf.kinds.open(tensor)
    assert staf.kinds.open(tensor, layout="hwc").shape == (4, 5)
    assert staf.kinds.open(tensor, layout="chw").shape == (5, 3)


def test_tensors_of_other_kinds():
    assert staf.kinds.open(torch.rand(5, 6, requires_grad=True)).dtype == np.float32
    assert staf.kinds.open(torch.rand(5, 6).bfloat16()).dtype == np.float32
    assert staf.kinds.open(torch.zeros(5, 6, dtype=torch.uint16)).dtype == np.uint16
    with pytest.raises(SignalError, match="got int64: convert it first, or open its array with kind='grid'"):
        staf.kinds.open(torch.zeros(5, 6, dtype=torch.int64), kind="image")
    with pytest.raises(SignalError, match=r"got \(1, 3, 5, 6\)"):
        staf.kinds.open(torch.zeros(1, 3, 5, 6), layout="hwc")
    with pytest.raises(SignalError, match=r"layout must be one of hwc, chw, .*, got 'nchw'"):
        staf.kinds.open(torch.zeros(3, 5, 6), layout="nchw")


def test_what_no_kind_takes_is_refused_without_naming_another_one():
    for array in (np.ones((4, 4)) * 1j, np.array([[1, None]], object)):
        with pytest.raises(SignalError, match=f"got {array.dtype.name}: convert it first$"):
            staf.kinds.open(array)
    with pytest.raises(SignalError, match="at least one pixel, got 0x3"):
        staf.kinds.open(PIL.Image.new("RGB", (0, 3)))


def test_an_image_comes_back_itself_under_its_new_name():
    image = Image(pixels(), name="a")
    assert staf.kinds.open(image).array is image.array
    assert staf.kinds.open(image, name="b").name == "b"
    assert image.name == "a"
