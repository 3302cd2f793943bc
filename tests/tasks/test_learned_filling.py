from __future__ import annotations

import torch

from benchmarks.sweeps.learn_filling import examples
from staf.kinds import sample_photo
from staf.tasks.filling import filled
from staf.tasks.learned_filling import FillingNetwork, filled_by_network, trained


def photo() -> torch.Tensor:
    """A face: part of a photo that the network was not trained on, (1, 64, 64)."""
    part = torch.from_numpy(sample_photo("astronaut").array[:256, 96:352].copy()).float() / 255
    return part.reshape(64, 4, 64, 4, 3).mean((1, 3, 4))[None]


def test_a_photo_is_filled_better_than_smoothly_and_what_is_known_stays():
    picture = photo()
    known = torch.rand(64, 64, generator=torch.Generator().manual_seed(0)) < 0.2
    smooth, learned = (of(picture * known, known) for of in (filled, filled_by_network))
    assert torch.equal(learned[:, known], picture[:, known])
    error = [float((of - picture).square().mean()) for of in (smooth, learned)]
    assert error[1] < 0.95 * error[0]


def test_brightness_and_contrast_make_no_difference_but_for_the_floor():
    picture = photo()
    known = torch.rand(64, 64, generator=torch.Generator().manual_seed(0)) < 0.3
    found, other = (filled_by_network(of * known, known) for of in (picture, 40 * picture + 3))
    assert (found - (other - 3) / 40).abs().mean() < 0.01


def test_it_begins_as_the_smooth_filling_and_learns():
    picture = photo().repeat(2, 1, 1)
    windows, known, wanted = examples(picture, 0.2, 100, torch.Generator().manual_seed(0))
    assert windows.shape == known.shape == (200, 121)
    network = FillingNetwork()
    before, after = ((of(windows, known) - wanted).square().mean() for of in (network, trained()))
    centre = windows.reshape(-1, 11, 11)[:, 4:7, 4:7].flatten(1)
    torch.testing.assert_close(before, (centre - wanted).square().mean(), atol=1e-3, rtol=0)
    assert after < before
