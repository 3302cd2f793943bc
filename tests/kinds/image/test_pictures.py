from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image as Pillow

from staf.figures.palette import ERROR_COLOURS
from staf.kinds import Image
from staf.kinds.image.pictures import pictures
from staf.reports.embedding import round_ceiling
from tests.reports.conftest import small_image


def decode(uri: str) -> Pillow.Image:
    return Pillow.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,"))))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_small_images_are_embedded_bit_for_bit(channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, channels), np.uint8)
    view = pictures(Image(pixels), Image(pixels)).views[0]
    shown = np.asarray(decode(view.target))
    assert np.array_equal(shown.reshape(20, 30, channels), pixels)


def test_the_error_map_is_linear_in_the_error_and_clipped_at_its_ceiling() -> None:
    target = np.zeros((10, 300, 1), np.float32)
    other = target.copy()
    other[:, :, 0] = np.linspace(0, 0.1, 300)
    other[0, 0] = 1.0
    seen = pictures(Image(target), Image(other))
    levels = np.asarray(decode(seen.views[0].error))
    assert seen.ceiling == pytest.approx(0.1)
    assert seen.largest == 1.0
    assert levels[0, 0] == 255, "one bad pixel is clipped and does not set the scale"
    assert np.array_equal(levels[5], (np.linspace(0, 0.1, 300) / 0.1 * 255).round().astype(np.uint8))
    palette = np.frombuffer(bytes(decode(seen.views[0].error).getpalette() or []), np.uint8).reshape(-1, 3)
    assert np.array_equal(palette, ERROR_COLOURS[: len(palette)])


def test_sixteen_bit_errors_are_fractions_of_the_range() -> None:
    target = np.zeros((8, 8), np.uint16)
    seen = pictures(Image(target), Image(target + np.uint16(6553)))
    assert seen.largest == pytest.approx(0.1, abs=1e-4)


def test_large_images_are_reduced_by_block_means() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (601, 1025, 3), np.uint8)
    view = pictures(Image(pixels), Image(pixels)).views[0]
    assert (view.width, view.height) == (342, 201)
    assert view.detail == "each pixel the mean of 3x3"
    shown = np.asarray(decode(view.target)).astype(float)
    assert np.allclose(shown[0, 0], pixels[:3, :3].mean((0, 1)), atol=0.51)
    assert np.allclose(shown[-1, -1], pixels[600:, 1023:].mean((0, 1)), atol=0.51), "edge blocks are smaller"


def test_the_crop_of_the_largest_error_shows_it() -> None:
    image = small_image(700, 900)
    wrong = image.array.copy()
    wrong[520:560, 100:140] = 255 - wrong[520:560, 100:140]
    view = next(v for v in pictures(image, image.with_pixels(wrong)).views if v.title == "Largest error")
    assert np.asarray(decode(view.error)).max() > 200
    left, top = (int(view.detail.split(word)[1].split()[0]) for word in ("column ", "row "))
    assert left <= 100 <= 140 <= left + 256
    assert top <= 520 <= 560 <= top + 256
    assert np.array_equal(np.asarray(decode(view.target)), image.array[top : top + 256, left : left + 256])


def test_equal_images_have_a_dark_map_and_a_scale_above_zero() -> None:
    image = small_image(8, 8)
    seen = pictures(image, image)
    assert not np.asarray(decode(seen.views[0].error)).any()
    assert seen.ceiling > 0


@pytest.mark.parametrize("value", [1e-9, 0.00011, 0.0099, 0.01, 0.2, 0.71, 1.0])
def test_ceilings_are_round_and_never_below(value: float) -> None:
    ceiling = round_ceiling(value)
    assert ceiling >= value * (1 - 1e-6)
    assert len(f"{ceiling:g}".strip("0.").replace("e-", "")) <= 3
