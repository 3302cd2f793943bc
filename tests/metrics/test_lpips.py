from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from torch import nn

from staf.kinds import sample_photo
from staf.metrics import LPIPS, load_lpips, lpips
from staf.metrics.lpips import SHAPES, cache_path, weights_path


def random_weights(seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scale = {"weight": 0.05, "bias": 0.1}
    drawn = {
        name: torch.randn(shape, generator=generator) * scale[name.rsplit(".", 1)[1]] for name, shape in SHAPES.items()
    }
    return {name: value.abs() if name.startswith("lin") else value for name, value in drawn.items()}


def plain_lpips(x: np.ndarray, y: np.ndarray, weights: dict[str, torch.Tensor]) -> float:
    """The definition in float64 on nn.Sequential and numpy, images (h, w, 3) in [0, 1]."""
    alexnet = nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(),
    ).double()  # fmt: skip
    alexnet.load_state_dict({name.removeprefix("features."): weights[name] for name in SHAPES if "features" in name})
    taps = []
    for image in (x, y):
        standard = (image * 2 - 1 - np.array([-0.030, -0.088, -0.188])) / np.array([0.458, 0.448, 0.450])
        flow, maps = torch.from_numpy(standard.transpose(2, 0, 1)[None]), []
        for layer in alexnet:
            flow = layer(flow)
            if isinstance(layer, nn.ReLU):
                maps.append(flow[0].detach().numpy())
        taps.append(maps)
    total = 0.0
    for i, (a, b) in enumerate(zip(*taps, strict=True)):
        a, b = (m / (np.linalg.norm(m, axis=0) + 1e-10) for m in (a, b))
        head = weights[f"lin{i}.weight"].numpy().reshape(-1)
        total += np.einsum("c,chw->hw", head, (a - b) ** 2).mean()
    return total


@pytest.mark.parametrize("shape", [(64, 64), (31, 90), (100, 77)])
def test_agrees_with_the_plain_computation(shape, generator):
    weights = random_weights()
    prediction, target = torch.rand(2, *shape, 3, generator=generator)
    measured = lpips(prediction, target, data_range=1.0, model=LPIPS(weights))
    assert float(measured) == pytest.approx(plain_lpips(prediction.numpy(), target.numpy(), weights), rel=1e-4)
    assert float(measured) > 0


def test_it_is_a_distance_of_clamped_images_in_any_range(generator):
    model = LPIPS(random_weights())
    prediction, target = torch.rand(2, 40, 50, 3, generator=generator)
    distance = float(lpips(prediction, target, data_range=1.0, model=model))
    assert float(lpips(target, target, data_range=1.0, model=model)) == 0
    assert float(lpips(target, prediction, data_range=1.0, model=model)) == pytest.approx(distance, rel=1e-5)
    wide = lpips(prediction * 255, target * 255, data_range=255, model=model)
    assert float(wide) == pytest.approx(distance, rel=1e-3)
    signed = lpips(prediction * 2 - 1, target * 2 - 1, data_range=(-1.0, 1.0), model=model)
    assert float(signed) == pytest.approx(distance, rel=1e-3)
    over = prediction.clone()
    over[:5] = 9.0
    under = prediction.clone()
    under[:5] = 1.0
    assert lpips(over, target, data_range=1.0, model=model) == lpips(under, target, data_range=1.0, model=model)


def test_grey_is_repeated(generator):
    model = LPIPS(random_weights())
    prediction, target = torch.rand(2, 40, 50, 1, generator=generator)
    grey = lpips(prediction, target, data_range=1.0, model=model)
    colour = lpips(prediction.expand(-1, -1, 3), target.expand(-1, -1, 3), data_range=1.0, model=model)
    assert float(grey) == pytest.approx(float(colour), rel=1e-6)


def test_it_is_a_loss_with_finite_gradients_even_where_features_vanish():
    model = LPIPS({name: torch.zeros_like(value) if name.endswith("bias") else value
                   for name, value in random_weights().items()})  # fmt: skip
    # Every convolution sees the standardised zero: all features are exactly zero.
    black = model.shift.permute(1, 2, 0).expand(40, 40, 3) / 2 + 0.5
    prediction = black.clone().requires_grad_()
    lpips(prediction, torch.rand(40, 40, 3), data_range=1.0, model=model).backward()
    assert torch.isfinite(prediction.grad).all()


def test_small_images_are_refused_from_thirty_pixels_down(generator):
    model = LPIPS(random_weights())
    assert torch.isfinite(lpips(*torch.rand(2, 31, 31, 3, generator=generator), data_range=1.0, model=model))
    with pytest.raises(ValueError, match=r"at least 31 pixels a side .*got 40x30"):
        lpips(torch.rand(30, 40, 3), torch.rand(30, 40, 3), data_range=1.0, model=model)


@pytest.mark.parametrize("channels", [2, 4])
def test_other_channel_counts_are_refused(channels):
    image = torch.rand(40, 40, channels)
    with pytest.raises(ValueError, match=r"\(h, w, 3\) or \(h, w, 1\)"):
        lpips(image, image, data_range=1.0, model=LPIPS(random_weights()))


def test_weights_are_buffers_that_survive_a_state_dict():
    model, other = LPIPS(random_weights(0)), LPIPS(random_weights(1))
    assert list(model.parameters()) == []
    other.load_state_dict(model.state_dict())
    images = torch.rand(2, 1, 3, 40, 40)
    assert torch.equal(model(*images), other(*images))


def test_wrong_weights_are_refused():
    weights = random_weights()
    with pytest.raises(ValueError, match=r"must hold 'lin3.weight'"):
        LPIPS({name: value for name, value in weights.items() if name != "lin3.weight"})
    with pytest.raises(ValueError, match=r"'features.0.bias' must have shape \(64,\), got \(65,\)"):
        LPIPS({**weights, "features.0.bias": torch.zeros(65)})


def test_where_weights_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("STAF_LPIPS_WEIGHTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"staf/lpips_alex.safetensors.*lpips_convert.*STAF_LPIPS_WEIGHTS"):
        load_lpips()
    cache_path().parent.mkdir()
    cache_path().touch()
    assert weights_path() == tmp_path / "staf" / "lpips_alex.safetensors"
    named = tmp_path / "named"
    named.touch()
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(named))
    assert weights_path() == named
    given = tmp_path / "given"
    given.touch()
    assert weights_path(given) == given
    with pytest.raises(ValueError, match="cannot be read as safetensors"):
        load_lpips(given)


@pytest.mark.skipif("STAF_LPIPS_WEIGHTS" not in os.environ, reason="STAF_LPIPS_WEIGHTS names no published weights")
def test_published_weights_give_the_numbers_of_the_reference_implementation():
    """The expected values were computed with the package lpips 0.1.4 (net="alex", version 0.1) on these crops."""
    astronaut, chelsea = (sample_photo(name) for name in ("astronaut", "chelsea"))
    first, second = (photo.values().reshape(*photo.shape, 3)[:256, :256] for photo in (astronaut, chelsea))
    assert float(lpips(first, second, data_range=1.0)) == pytest.approx(0.739686, abs=1e-5)
    assert float(lpips((first * 4).round() / 4, first, data_range=1.0)) == pytest.approx(0.232524, abs=1e-5)
