from __future__ import annotations

import inspect
import math

import pytest
import torch

from staf.metrics import normal_consistency


def test_it_is_the_mean_cosine_without_sign_or_length(generator):
    first, second = torch.randn(2, 50, 3, generator=generator)
    expected = torch.cosine_similarity(first.double(), second.double()).abs().mean()
    assert float(normal_consistency(first, second)) == pytest.approx(float(expected))
    assert float(normal_consistency(-3 * first, second)) == pytest.approx(float(expected))


def test_an_angle_gives_its_cosine():
    angle = torch.tensor(0.3)
    first = torch.tensor([[1.0, 0, 0]])
    second = torch.stack([angle.cos(), angle.sin(), torch.tensor(0.0)])[None]
    assert float(normal_consistency(first, second)) == pytest.approx(math.cos(0.3))


@pytest.mark.parametrize("shapes", [((4, 3), (5, 3)), ((0, 3), (0, 3)), ((4, 2), (4, 2))])
def test_what_is_no_pair_of_normals_is_refused(shapes):
    with pytest.raises(ValueError, match="must have the same shape"):
        inspect.unwrap(normal_consistency)(*(torch.zeros(shape) for shape in shapes))
