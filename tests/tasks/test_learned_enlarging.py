from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from staf.kinds import Image, sample_photo
from staf.tasks import SuperResolution
from staf.tasks.classical import lanczos, measured, upscaled
from staf.tasks.learned_enlarging import EnlargingNetwork, enlarged_by_network
from staf.tasks.returned import LEARNED, returned_upscaling


def photo(channels: int = 3) -> torch.Tensor:
    """A face: part of a photo that the network was not trained on, (c, 64, 64)."""
    part = torch.from_numpy(sample_photo("astronaut").array[:256, 96:352].copy()).float() / 255
    part = part.reshape(64, 4, 64, 4, 3).mean((1, 3)).movedim(-1, 0)
    return part if channels == 3 else part.mean(0, keepdim=True)


@pytest.mark.parametrize("factor", [2, 4])
def test_a_photo_is_enlarged_better_than_by_lanczos_and_its_area_means_stay(factor):
    for picture in (photo(), photo(1)):
        seen = functional.avg_pool2d(picture, factor)
        found = enlarged_by_network(seen, factor)
        torch.testing.assert_close(functional.avg_pool2d(found, factor), seen, atol=1e-5, rtol=0)
        error = [float((of - picture).square().mean()) for of in (lanczos(seen, factor), found)]
        assert error[1] < 0.95 * error[0]


def test_it_begins_as_the_corrected_interpolation_and_other_factors_are_refused():
    picture = photo()[:, :12, :15]
    found = EnlargingNetwork()(picture[None], 3)
    torch.testing.assert_close(functional.avg_pool2d(found, 3)[0], picture, atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match="factor must be one of 2, 3, 4, got 5"):
        enlarged_by_network(picture, 5)


def test_it_is_returned_for_a_photo_and_says_so():
    truth = Image((255 * photo()).round().byte().movedim(0, -1).numpy())
    task = SuperResolution.simulated(truth, 2, held_out=0.05, generator=torch.Generator().manual_seed(0))
    choice = returned_upscaling(task, lambda points: 0.5 + 0 * points[:, :1].expand(-1, 3))
    assert (choice.method, choice.fitted) == (LEARNED, False)
    assert "comes from learned enlarging, not from the fit: on held-out pixels" in choice.told()
    assert measured(task, choice.values)["psnr"] > measured(task, upscaled(task)["Lanczos"])["psnr"] + 0.3
