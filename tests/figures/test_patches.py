"""Magnified patches: where they are, and what stands below them."""

from __future__ import annotations

import numpy as np
import pytest

from staf.figures.patches import patches_figure, worst_places


def test_places_are_the_worst_apart_and_inside():
    error = np.random.default_rng(0).random((30, 50)) * 0.1
    error[5, 5], error[6, 6], error[29, 49] = 1.0, 0.9, 0.8
    places = worst_places(error, (300, 500), side=40, count=3)
    assert places[0] == (35, 35)
    assert places[1] == (260, 460)
    assert all(0 <= top <= 260 and 0 <= left <= 460 for top, left in places)
    apart = [max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a in places for b in places if a is not b]
    assert min(apart) > 40


def test_patches_larger_than_the_picture_start_at_its_corner():
    assert worst_places(np.ones((4, 4)), (10, 10), side=40, count=2) == [(0, 0), (0, 0)]


def test_titles_give_the_decibels_of_each_patch():
    target = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    off = target.copy()
    off[:20, :20] = np.where(off[:20, :20] < 128, off[:20, :20] + 26, off[:20, :20] - 26)
    figure = patches_figure(target, {"A": target, "B": off}, [(0, 0), (30, 40)], side=20)
    titles = [axes.get_xlabel() for axes in figure.axes[1:]]
    assert titles == ["target", "A, exact", "B, 19.8 dB", "target", "A, exact", "B, exact"]
    figure.canvas.draw()


def test_grey_and_sixteen_bits_are_shown():
    grey = np.random.default_rng(0).integers(0, 65536, (40, 40, 1), np.uint16)
    assert len(patches_figure((grey // 257).astype(np.uint8), {}, [(0, 0)], side=16).axes) == 2


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="A must have the shape of the target"):
        patches_figure(np.zeros((8, 8, 3), np.uint8), {"A": np.zeros((8, 9, 3), np.uint8)}, [(0, 0)])
