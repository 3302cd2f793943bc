"""Figures of the analyses, drawn from what a file would hold."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from staf.analysis.registry import RESULTS
from staf.figures.analysis import DRAWERS, draw
from tests.analysis.results import result


def through_a_file(data: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    return json.loads(json.dumps(data, default=plain))


def lines(figure: Any) -> list[Any]:
    return [line for axes in figure.get_axes() for line in axes.get_lines()]


def test_every_analysis_has_a_figure() -> None:
    assert set(DRAWERS) == set(RESULTS)
    assert DRAWERS["ntk"] is DRAWERS["ntk-crop"] is DRAWERS["ntk-audio"]
    with pytest.raises(ValueError, match="name must be one of"):
        draw("nothing", {})


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("ntk-crop", "ntk-audio")])
def test_drawn_from_plain_data(name: str) -> None:
    figure = draw(name, through_a_file(result(name).data))
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=40)
    assert page.getbuffer()[:4] == b"\x89PNG"
    titled = [axes for axes in figure.get_axes() if axes.get_xlabel() or axes.get_title() or axes.get_ylabel()]
    assert titled


def test_eigenvalues_are_the_lines() -> None:
    data = result("ntk").data
    drawn = [line.get_ydata() for line in lines(draw("ntk", data))]
    for values in data["eigenvalues"]:
        kept = np.where(values > 1e-9 * values[0], values, np.nan)
        assert any(len(line) == len(kept) and np.array_equal(line, kept, equal_nan=True) for line in drawn)


def test_changes_and_drifts_are_the_lines() -> None:
    data = result("dynamics").data
    drawn = [np.asarray(line.get_ydata()) for line in lines(draw("dynamics", data))]
    assert len(drawn) == 3 * 2 * 2
    for kind in ("change", "drift"):
        for part in ("amplitude", "frequency", "phase"):
            for layer in np.array(data[kind][part]).T:
                assert any(np.array_equal(line, layer) for line in drawn)
