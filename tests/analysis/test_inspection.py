from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import staf
from staf.analysis import inspect_figure
from staf.analysis.inspection import start_of

PICTURE = np.random.default_rng(0).random((12, 12)).astype(np.float32)


def small_plan() -> staf.Plan:
    recipe = staf.recipes.default(steps=3)
    return staf.Plan(lambda generator: staf.staf(2, 1, width=8, depth=2, generator=generator), recipe)


def test_each_layer_has_its_curve_its_sinusoids_and_its_spectrum() -> None:
    fit = staf.fit(PICTURE, plan=small_plan(), progress=False, device="cpu")
    figure = inspect_figure(fit.field, fit.start)
    names = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert names.count("ρ(x)") == 2
    assert names.count("amplitude |C|") == 2
    assert names.count("share of power") == 2


def test_a_file_of_a_seeded_field_knows_its_start(tmp_path: Path) -> None:
    fit = staf.fit(PICTURE, plan=small_plan(), seed=7, progress=False, device="cpu")
    field = staf.load(fit.save(tmp_path / "field.safetensors"))
    start = start_of(field.module, field.metadata)
    assert start is not None
    for name, value in fit.start.items():
        assert torch.equal(start[name], value)
    labels = [line.get_label() for axes in inspect_figure(field).axes for line in axes.lines]
    assert "before training" in labels


def test_a_field_that_was_given_has_no_known_start(tmp_path: Path) -> None:
    fit = staf.fit(PICTURE, field=staf.staf(2, 1, width=8, depth=2), steps=1, progress=False, device="cpu")
    field = staf.load(fit.save(tmp_path / "field.safetensors"))
    assert start_of(field.module, field.metadata) is None
    labels = [line.get_label() for axes in inspect_figure(field).axes for line in axes.lines]
    assert "before training" not in labels


def test_networks_without_sinusoids_show_what_they_have() -> None:
    for network in (staf.siren(2, 1, width=8, depth=2), staf.wire(2, 1, width=8, depth=2)):
        fit = staf.fit(PICTURE, field=network, steps=1, progress=False, device="cpu")
        names = {axes.get_ylabel() for axes in inspect_figure(fit.field).axes}
        assert "share of power" in names
        assert "amplitude |C|" not in names
