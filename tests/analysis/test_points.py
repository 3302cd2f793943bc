"""Few points of a signal: averaged or cropped."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from staf.analysis.points import chord, few_points
from staf.kinds import Image
from staf.signals.grid import coordinates


def photo() -> Image:
    return Image(np.arange(40 * 30 * 3, dtype=np.uint16).reshape(40, 30, 3))


def test_small_signals_are_used_as_they_are() -> None:
    points = few_points(photo(), 1200)
    assert points.shape == (40, 30)
    assert torch.equal(points.coordinates, coordinates((40, 30)))
    assert torch.equal(points.target, photo().values())


def test_averaging_is_by_area() -> None:
    points = few_points(photo(), 12)
    assert points.shape == (4, 3)
    expected = photo().values().reshape(4, 10, 3, 10, 3).mean((1, 3)).reshape(12, 3)
    assert torch.allclose(points.target, expected, atol=1e-6)
    assert torch.equal(points.coordinates, coordinates((4, 3)))


def test_a_crop_keeps_the_spacing() -> None:
    points = few_points(photo(), 12, crop=True)
    assert points.shape == (4, 3)
    grid = coordinates((40, 30)).reshape(40, 30, 2)[18:22, 13:16].reshape(-1, 2)
    assert torch.equal(points.coordinates, grid)
    assert torch.equal(points.target, photo().values().reshape(40, 30, 3)[18:22, 13:16].reshape(-1, 3))


def test_audio_is_cropped() -> None:
    sound = SimpleNamespace(shape=(100,), value_range=(-1.0, 1.0), values=lambda: torch.linspace(-1, 1, 100)[:, None])
    points = few_points(sound, 10)
    assert points.shape == (10,)
    assert torch.equal(points.coordinates, coordinates((100,))[45:55])
    assert torch.allclose(points.target, (sound.values()[45:55] + 1) / 2)
    with pytest.raises(ValueError, match="crop must be true for audio"):
        few_points(sound, 10, crop=False)


def test_volumes_are_averaged() -> None:
    cube = SimpleNamespace(shape=(8, 8, 8), value_range=(0.0, 1.0), values=lambda: torch.rand(512, 1))
    points = few_points(cube, 64)
    assert points.shape == (4, 4, 4)
    assert points.target.shape == (64, 1)


def test_the_chord_fills_its_range() -> None:
    points = chord(most=8000)
    assert points.target.min() >= 0
    assert points.target.max() <= 1
    spectrum = np.abs(np.fft.rfft(points.target[:, 0].numpy() - 0.5))
    assert {220, 277, 330} <= set(np.argsort(spectrum)[-4:].tolist())


def test_refuses_no_points() -> None:
    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        few_points(photo(), 0)
