from __future__ import annotations

import torch

from staf.kinds import sample_photo
from staf.tasks.filling import filled
from staf.tasks.learned_filling import FillingNetwork, filled_by_network


def photo(channels: int = 3) -> torch.Tensor:
    """A face: part of a photo that no network was trained on, (c, 64, 64)."""
    part = torch.from_numpy(sample_photo("astronaut").array[:256, 96:352].copy()).float() / 255
    part = part.reshape(64, 4, 64, 4, 3).mean((1, 3)).movedim(-1, 0)
    return part if channels == 3 else part.mean(0, keepdim=True)


def test_a_photo_is_filled_better_than_smoothly_and_what_is_known_stays():
    known = torch.rand(64, 64, generator=torch.Generator().manual_seed(0)) < 0.2
    for picture in (photo(), photo(1)):
        smooth, learned = (of(picture * known, known) for of in (filled, filled_by_network))
        assert torch.equal(learned[:, known], picture[:, known])
        error = [float((of - picture).square().mean()) for of in (smooth, learned)]
        assert error[1] < 0.9 * error[0]


def test_brightness_and_contrast_make_no_difference_but_for_the_floor():
    picture = photo(1)
    known = torch.rand(64, 64, generator=torch.Generator().manual_seed(0)) < 0.3
    found, other = (filled_by_network(of * known, known) for of in (picture, 40 * picture + 3))
    assert (found - (other - 3) / 40).abs().mean() < 0.01


def test_it_begins_as_the_smooth_filling():
    smooth, known = photo()[None, :, :33], torch.zeros(1, 1, 33, 64)
    assert torch.equal(FillingNetwork()(smooth, known), smooth)
