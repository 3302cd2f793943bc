from __future__ import annotations

import math

import numpy as np
import pytest

from paper.report.training_curves import curves_figure, training_psnr


def run(losses, seconds=1.0):
    return {
        "step": list(range(len(losses))),
        "seconds": [seconds * (i + 1) for i in range(len(losses))],
        "loss": losses,
    }


def test_a_single_run_is_drawn_as_it_is():
    figure = curves_figure({"a": [run([0.1, 0.01])]})
    (line,) = figure.axes[0].lines
    assert line.get_ydata().tolist() == pytest.approx([10.0, 20.0])
    assert figure.axes[1].lines[0].get_xdata().tolist() == [1.0, 2.0]


def test_several_runs_have_their_mean_as_far_as_all_go():
    figure = curves_figure({"a": [run([0.1, 0.1, 0.1]), run([0.001, 0.001])]})
    faint, fainter, mean = figure.axes[0].lines
    assert (len(faint.get_xdata()), len(fainter.get_xdata())) == (3, 2)
    assert mean.get_xdata()[-1] == 1
    assert np.allclose(mean.get_ydata(), 20.0)
    assert mean.get_label() == "a"


def test_broken_losses_are_gaps():
    drawn = training_psnr([0.0, 1.0, math.nan, math.inf])
    assert drawn[:2].tolist() == [200.0, 0.0]
    assert np.isnan(drawn[2:]).all()
