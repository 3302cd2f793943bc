"""Every network has the same number of trials, on one shape alone, and the others check what it found."""

from __future__ import annotations

import json

import pytest

from paper.data.shapes import pack_shape
from paper.searches import shape_search
from paper.searches.shape_search import STAGES, Settings, main, read_settings
from staf.kinds import Shape


@pytest.mark.parametrize("model", shape_search.MODELS)
def test_every_network_has_as_many_trials(model):
    best = Settings(7e-3, {"omega0": 64.0, "hidden_omega0": 25.0})
    trials = {name: stage(model, best, 40.0) for name, stage in STAGES.items()}
    assert [len(tried) for tried in trials.values()] == [5, 4, 3, 2, 2, 2, 2]
    assert all(settings.rate and settings != best for tried in trials.values() for settings in tried)
    assert all(s.arguments["omega0"] == 64.0 for name in ("rate", "band") for s in trials[name]), (
        "what was found is kept"
    )


def test_a_band_is_that_of_the_first_layers_neurons():
    assert Settings(band=(10.0, 100.0)).with_band(2.0).band == (20.0, 200.0)
    assert Settings(arguments={"omega0": 30.0}).with_band(2.0) == Settings(arguments={"omega0": 60.0})
    assert [s.arguments.get("first_bias") for s in STAGES["band"]("finer", Settings(), 30.0)] == [2.0, 3.5, 7.5, 10.0]


def test_a_search_by_one_shape_and_a_check_by_another(tmp_path, capsys):
    (tmp_path / "8").mkdir()
    for name in ("ball", "other"):
        pack_shape(Shape.sphere(resolution=8), tmp_path / "8" / f"{name}.npz")
    paths = [str(tmp_path / "8" / f"{name}.npz") for name in ("ball", "other")]
    words = [paths[0], "--check", paths[1], "--fine", paths[1], "--out", str(tmp_path / "log.json"), "--device", "cpu"]
    words += [
        "--steps",
        "1",
        "--batch",
        "64",
        "--long-steps",
        "1",
        "--fine-steps",
        "1",
        "--width",
        "8",
        "--stages",
        "band, finer",
    ]
    assert main([*words, "--models", "siren"]) == 0
    rows = json.loads((tmp_path / "log.json").read_text())
    searched = [row for row in rows if row["part"].startswith("search")]
    assert {row["shape"] for row in searched} == {"ball"}
    assert len(searched) == 2
    assert {(row["part"], row["shape"], row["settings"]) for row in rows if row not in searched} >= {
        ("short", "other", "plan"), ("short", "other", "found"), ("long", "ball", "plan"), ("fine", "other", "found"),
    }  # fmt: skip
    assert all(0 <= row["iou"] <= 1 for row in rows)
    said = capsys.readouterr().out.splitlines()[2]
    assert read_settings(said, ["siren"])["siren"].arguments["omega0"] in (0.75 * 30, 1.33 * 30)
    assert read_settings(said, ["finer"]) == {"finer": Settings()}
    assert (
        shape_search.Search("cpu", None, -1.0).fit("", "siren", paths[0], shape_search.Length(1, 1), Settings()) == -1
    )
