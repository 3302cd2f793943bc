"""Encodings against their formulas."""

from __future__ import annotations

import math

import pytest
import torch

from staf.nn import FrequencyEncoding, GaussianEncoding, nyquist_bands


@pytest.mark.parametrize(("samples", "bands"), [(512, 7), (511, 6), (510, 6), (64, 4), (8, 1), (2, 1)])
def test_nyquist_rule(samples: int, bands: int) -> None:
    assert nyquist_bands(samples) == bands


def test_nyquist_refuses_nothing() -> None:
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        nyquist_bands(0)


def test_frequency_encoding() -> None:
    encoding = FrequencyEncoding(2, bands=3, dtype=torch.float64)
    x, y = 0.3, -0.7
    expected = [x, y]
    for wave in (math.sin, math.cos):
        for value in (x, y):
            expected += [wave(2**k * math.pi * value) for k in range(3)]
    found = encoding(torch.tensor([[x, y]], dtype=torch.float64))[0]
    assert found.tolist() == pytest.approx(expected, abs=1e-12)
    assert encoding.out_features == len(expected)


def test_gaussian_encoding(generator: torch.Generator) -> None:
    encoding = GaussianEncoding(2, features=2000, scale=7.0, generator=generator, dtype=torch.float64)
    assert encoding.frequencies.std().item() == pytest.approx(7.0, rel=0.03)
    assert "frequencies" in encoding.state_dict()
    assert not list(encoding.parameters())
    x = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    angles = 2 * math.pi * x @ encoding.frequencies.T
    assert torch.allclose(encoding(x), torch.cat([angles.sin(), angles.cos()], -1), atol=1e-10)
