from __future__ import annotations

import math

import numpy as np
import pytest

from staf.figures import psnr_curve
from staf.figures.curves import running_mean
from staf.training import History


def history(steps: int) -> History:
    loss = [10 ** (-step / steps) for step in range(steps)]
    return History(list(range(steps)), loss, [1.0] * steps, [step / 10 for step in range(steps)])


def test_the_line_is_the_psnr_of_each_step() -> None:
    axes = psnr_curve({"staf": history(100)}).axes[0]
    assert len(axes.lines) == 1
    assert np.allclose(axes.lines[0].get_ydata(), history(100).psnr)


def test_long_histories_are_smoothed_over_all_their_points() -> None:
    axes = psnr_curve({"staf": history(1000)}, against="seconds").axes[0]
    raw, smooth = axes.lines
    assert raw.get_alpha() == 0.2
    assert np.allclose(smooth.get_ydata(), running_mean(history(1000).psnr, 5))
    assert axes.get_xlabel() == "seconds of training"


def test_several_fits_have_a_legend_and_differ_in_colour_and_dash() -> None:
    axes = psnr_curve({"staf": history(10), "siren": history(10)}).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["staf", "siren"]
    one, two = axes.lines
    assert one.get_color() != two.get_color()
    assert one.get_linestyle() != two.get_linestyle()


def test_what_is_not_finite_leaves_the_mean() -> None:
    assert running_mean([1.0, math.inf, 3.0], 2).tolist() == [1.0, 1.0, 3.0]


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="against must be 'step' or 'seconds', got 'time'"):
        psnr_curve({"staf": history(3)}, against="time")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one fit"):
        psnr_curve({})
