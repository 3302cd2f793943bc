"""The residual stems: counts, shapes, purity."""

from __future__ import annotations

import pytest
import torch

from staf.nn.residual import Block, Convolution, ImageStem, ShapeStem


def test_counts() -> None:
    """Sums over the published layers; normalisation has two numbers a channel."""
    assert sum(p.numel() for p in ImageStem(device="meta").parameters()) == 231_488
    stem = 3 * 64 * 3 * 7 * 7 + 128
    first = 2 * (2 * 64 * 64 * 27 + 2 * 128)
    second = (64 * 128 * 27 + 3 * 128 * 128 * 27 + 4 * 256) + (64 * 128 + 256)
    assert sum(p.numel() for p in ShapeStem(device="meta").parameters()) == stem + first + second


@pytest.mark.parametrize("size", [(1, 1), (5, 9), (33, 20)])
def test_images_of_any_size(size: tuple[int, int], generator: torch.Generator) -> None:
    features = ImageStem(generator=generator)(torch.rand(1, 3, *size, generator=generator))
    assert features.shape == (64,)
    assert torch.isfinite(features).all()


def test_convolution_normalises_each_channel(generator: torch.Generator) -> None:
    y = Convolution(3, 5, kernel=(3, 3), generator=generator)(torch.rand(1, 3, 20, 20, generator=generator))
    assert torch.allclose(y.mean((0, 2, 3)), torch.zeros(5), atol=1e-5)
    assert torch.allclose(y.var((0, 2, 3), correction=0), torch.ones(5), atol=1e-2)


def test_convolution_weights_have_variance_two_over_fan_out(generator: torch.Generator) -> None:
    weight = Convolution(32, 64, kernel=(3, 3), generator=generator).weight
    assert weight.var().item() == pytest.approx(2 / (64 * 9), rel=0.03)


def test_a_block_adds_to_its_input(generator: torch.Generator) -> None:
    block = Block(4, 4, dimensions=2, generator=generator)
    with torch.no_grad():
        block.second.scale.zero_()
    x = torch.rand(1, 4, 6, 6, generator=generator)
    assert torch.equal(block(x), x)
    changing = Block(4, 8, dimensions=3, stride=2, generator=generator)
    assert changing(torch.rand(1, 4, 6, 6, 6, generator=generator)).shape == (1, 8, 3, 3, 3)


def test_a_pass_changes_no_state(generator: torch.Generator) -> None:
    stem = ImageStem(generator=generator)
    image = torch.rand(1, 3, 16, 16, generator=generator)
    first = stem(image)
    stem.eval()
    assert torch.equal(stem(image), first)
    assert not list(stem.buffers())
