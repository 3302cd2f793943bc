from __future__ import annotations

import itertools

import numpy as np
import pytest

from staf.figures.restoration import restoration_comparison


def picture(channels: int = 3) -> np.ndarray:
    return np.random.default_rng(0).random((24, 32, channels))


@pytest.mark.parametrize("channels", [1, 3])
def test_columns(channels):
    truth = picture(channels)
    figure = restoration_comparison(truth, truth[::4, ::4], {"a  30 dB": truth * 0.9, "b": truth * 0.5})
    assert [axes.get_title() for axes in figure.axes[:4]] == ["truth", "observed", "a  30 dB", "b"]
    shown = figure.axes[1].images[0].get_array()
    assert shown.shape[:2] == (24, 32)
    assert (np.ptp(np.asarray(shown)[:4, :4].reshape(16, -1), axis=0) == 0).all()
    figure.canvas.draw()


def test_long_titles_do_not_run_into_their_neighbours():
    name = "mean (linear 22%, learned filling 16%, patch groups 62%)  29.37 dB"
    figure = restoration_comparison(picture(), picture(), {"a": picture(), name: picture(), "b": picture()})
    figure.canvas.draw()
    boxes = [axes.title.get_window_extent() for axes in figure.axes[:5]]
    assert all(one.x1 <= next_one.x0 for one, next_one in itertools.pairwise(boxes))


def test_the_box_is_where_methods_fail():
    truth = picture()
    wrong = truth.copy()
    wrong[20:, 28:] = 0
    figure = restoration_comparison(truth, truth, {"wrong": wrong})
    close = figure.axes[5].images[0].get_array()
    assert (np.asarray(close)[-4:, -4:] == 0).all()
    chosen = restoration_comparison(truth, truth, {"wrong": wrong}, (slice(0, 5), slice(0, 6)))
    assert chosen.axes[5].images[0].get_array().shape == (5, 6, 3)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="at least one picture"):
        restoration_comparison(picture(), picture(), {})
    with pytest.raises(ValueError, match="'a' must have the truth's shape"):
        restoration_comparison(picture(), picture(), {"a": picture()[:5]})


def test_an_observation_on_another_grid_stands_alone():
    figure = restoration_comparison(picture(), np.arange(21.0).reshape(7, 3, 1), {"a": picture()})
    observed = figure.axes[1]
    assert observed.get_title() == "observed"
    assert observed.images[0].get_array().shape == (7, 3)
    assert observed.images[0].get_array().max() == 1
    assert not figure.axes[4].get_visible()
