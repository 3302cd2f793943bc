"""Each theory figure is drawn from its data alone, with every axis labelled, and without pyplot."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from staf.figures.theory import DRAWERS, draw
from staf.nn import staf
from staf.theory.layer_statistics import layer_distribution_data
from staf.theory.registry import RESULTS


def data(name: str) -> dict:
    if name == "layers":
        return layer_distribution_data(points=256, bins=31)
    return RESULTS[name].run(None, 0).data


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_result_has_a_figure_with_labelled_axes(name: str, tmp_path) -> None:
    figure = draw(name, data(name))
    drawn = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert drawn
    for axes in drawn:
        assert axes.get_xlabel()
        assert axes.has_data()
    assert any(axes.get_ylabel() for axes in drawn)
    assert any(axes.get_title() for axes in drawn)
    path = tmp_path / "figure.png"
    figure.savefig(path)
    assert path.stat().st_size > 5_000


def test_figures_of_a_network() -> None:
    field = staf(2, 1, width=2, depth=2, terms=2, generator=torch.Generator().manual_seed(0))
    for name in ("jacobi-anger", "sine-of-uniform", "gradient-gain", "layers"):
        assert draw(name, RESULTS[name].run(field, 0).data).axes


def test_names_are_those_of_the_registry_and_unknown_ones_are_refused() -> None:
    assert set(DRAWERS) == set(RESULTS)
    with pytest.raises(ValueError, match="name must be one of"):
        draw("nothing", {})


def test_drawing_does_not_load_pyplot() -> None:
    code = (
        "import sys; from staf.figures.theory import delannoy; "
        "from staf.theory.potential_frequencies import delannoy_data; "
        "delannoy(delannoy_data(5, orders=[2], widths=[4])); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
