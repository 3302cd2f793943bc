from __future__ import annotations

import math
import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import staf
from staf.figures import activation_curves
from staf.reports.charts import activation_chart, binned, psnr_chart
from staf.reports.svg import Chart, tick_values


def test_long_histories_are_drawn_short_and_keep_their_extremes() -> None:
    values = np.sin(np.arange(50_000) / 999).tolist()
    values[31_415] = 7.0
    middle, low, mean, high = binned(values)
    assert len(middle) == 240
    assert high.max() == 7.0
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert len(psnr_chart(values, 3.0)) < 20_000


@pytest.mark.parametrize("history", [[12.0], [12.0, math.inf, 14.0], [-math.inf, 3.0], [math.nan, 1.0, 2.0]])
def test_short_and_broken_histories_still_draw(history: list[float]) -> None:
    chart = psnr_chart(history, history[-1])
    assert xml.fromstring(chart).tag == "svg"
    assert "nan" not in chart.replace("name", "")
    assert "inf" not in chart


def test_no_history_no_chart() -> None:
    assert psnr_chart([], None) == ""


def test_marks_land_where_the_data_is() -> None:
    chart = Chart(200, 100, (0, 10), (0, 1), left=20, right=20, top=10, bottom=10)
    chart.line([0, 5, 10], [0, 0.5, 1], "after")
    assert 'd="M20.0 90.0L100.0 50.0L180.0 10.0"' in chart.render()


def test_words_in_charts_are_escaped() -> None:
    chart = Chart(200, 100, (0, 1), (0, 1), "<x>", "<y>", "<label>")
    chart.dot(0.5, 0.5, "<note>", "final")
    text = chart.render()
    assert xml.fromstring(text) is not None
    assert not re.search(r"<(x|y|label|note)>", text)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.003, 0.004), (5, 61.7), (0, 123_456), (2, 2)])
def test_ticks_lie_inside_and_are_few(low: float, high: float) -> None:
    ticks = tick_values(low, high, 5)
    assert 1 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)


def test_an_activation_that_did_not_move_is_drawn_once() -> None:
    field = staf.staf(2, 1, width=8, depth=2)
    start = {name: p.detach().clone() for name, p in field.named_parameters() if "activations" in name}
    still, _ = activation_curves(field, start)
    assert "line before" not in activation_chart(still)
    start["activations.0.frequency"] += 5
    moved, _ = activation_curves(field, start)
    assert "line before" in activation_chart(moved)
