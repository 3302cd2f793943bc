from __future__ import annotations

import pytest
import torch

from staf.operators import PhotonNoise


@pytest.mark.parametrize("readout", [0.0, 2.0])
@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_mean_and_variance_are_those_of_the_model(value, readout):
    noise = PhotonNoise(10, readout)
    x = torch.full((200_000,), value, dtype=torch.float64)
    y = noise(x, torch.Generator().manual_seed(0))
    variance = noise.variance(x)[0]
    torch.testing.assert_close(y.mean(), x[0], atol=5 * (variance.item() / len(x)) ** 0.5 + 1e-12, rtol=0)
    torch.testing.assert_close(y.var(), variance, rtol=0.03, atol=1e-12)


def test_the_generator_decides_everything():
    x = torch.rand(100, generator=torch.Generator().manual_seed(0))
    noise = PhotonNoise(10, 2)
    state = torch.random.get_rng_state()
    first, again = (noise(x, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, noise(x, torch.Generator().manual_seed(6)))
    assert torch.equal(state, torch.random.get_rng_state())


def test_observations_are_not_clipped():
    y = PhotonNoise(10, 2)(torch.ones(1000), torch.Generator().manual_seed(0))
    assert y.max() > 1.5


@pytest.mark.parametrize("count", [-10, 0, float("nan"), float("inf")])
def test_count(count):
    with pytest.raises(ValueError, match="count must be a positive number of photons"):
        PhotonNoise(count)


def test_readout_and_values():
    with pytest.raises(ValueError, match="readout must be"):
        PhotonNoise(10, -1)
    with pytest.raises(ValueError, match=r"x must not be negative.*-0\.1"):
        PhotonNoise(10)(torch.tensor([0.5, -0.1]), torch.Generator())
