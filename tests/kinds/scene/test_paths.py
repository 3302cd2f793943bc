"""Cameras of a rendering: sizes that are bounded, and lenses that a larger picture is too wide for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from staf.kinds.scene.cameras import MOST_PIXELS
from staf.kinds.scene.paths import check_together, chosen_cameras
from staf.signals import SignalError
from tests.kinds.scene.procedural import around


@pytest.mark.parametrize("size", [(30_000, 30_000), (40_000, 1), (0, 4)])
def test_sizes_are_bounded(size):
    with pytest.raises(SignalError, match=rf"at most {MOST_PIXELS:,} pixels in all, got {size[0]}x{size[1]}"):
        chosen_cameras(around(2), size=size)
    with pytest.raises(SignalError, match="the size of a picture must be"):
        chosen_cameras(replace(around(2), width=size[0], height=size[1]))


def test_pictures_that_are_kept_together_are_bounded():
    film = chosen_cameras(around(2), "orbit", size=(1920, 1080))
    check_together(film)
    with pytest.raises(SignalError, match=r"120 pictures of 3840x2160 have 995,328,000 pixels, .*write an .mp4"):
        check_together(film.resized(width=3840, height=2160))


def test_a_size_keeps_all_that_is_seen():
    square = around(1, size=24)
    for width, height in ((64, 48), (48, 64)):
        shown = chosen_cameras(square, size=(width, height))
        assert torch.equal(shown.focal, 2 * square.focal)
        assert shown.centre.tolist() == [[width / 2, height / 2]]


def test_a_size_that_shows_more_than_a_lens_can_is_refused():
    lens = torch.tensor([[-0.5, 0.0, 0.0, 0.0]])
    cameras = replace(around(1), distortion=lens)
    assert chosen_cameras(cameras, size=(48, 48)).width == 48
    with pytest.raises(
        SignalError, match=r"^size 96x24 shows more than the photos do: view 0: lens distortion of k1 -0.5"
    ):
        chosen_cameras(cameras, size=(96, 24))


def test_an_orbit_of_no_radius_is_refused():
    with pytest.raises(SignalError, match="which is 0 here: give cameras of your own"):
        chosen_cameras(around(1), "orbit", towards=around(1).positions[0].tolist())
