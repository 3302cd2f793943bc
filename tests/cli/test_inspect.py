from __future__ import annotations

import pytest

from staf.api import load
from staf.kinds import open as open_signal

# Four layers of 32 with five sinusoids each.
PARAMETERS = (2 + 1) * 32 + 3 * (32 + 1) * 32 + (32 + 1) * 3 + 4 * 15


@pytest.fixture
def model(staf, picture):
    assert staf("fit", picture, "--steps", 3, "--width", 32, "--out", "run").code == 0
    return "run/model.safetensors"


def test_parameters_and_sinusoids_are_listed_and_drawn(staf, model):
    ran = staf("inspect", model)
    assert ran.code == 0
    assert f"{PARAMETERS:,}" in ran.out
    assert "Learnt sinusoids" in ran.out
    assert "figure: run/model-inspect.png" in ran.out
    assert open_signal("run/model-inspect.png").width > 800


def test_json_holds_the_learnt_numbers_and_a_picture_is_not_overwritten(staf, model, here):
    (here / "seen.png").write_text("mine")
    assert "name another place with --out" in staf("inspect", model, "-o", "seen.png").refused()
    assert (here / "seen.png").read_text() == "mine"
    document = staf("inspect", model, "--json", "-o", "seen.png", "--overwrite").json
    assert open_signal("seen.png").kind == "image"
    assert document["total"] == sum(row["count"] for row in document["parameters"]) == PARAMETERS
    assert {row["role"] for row in document["parameters"]} == {"matrix", "amplitude", "frequency", "phase", "other"}
    assert len(document["sinusoids"]) == 4 * 5
    first = load(model).module.activation(0)
    assert [row["frequency"] for row in document["sinusoids"][:5]] == pytest.approx(first.sinusoids[1].tolist())
    assert document["metadata"]["steps"] == 3
    assert document["architecture"]["name"] == "staf"
    assert document["grid"] == []


def test_a_picture_of_no_known_format_is_refused_before_the_work(staf, model, here):
    for name in ("seen", "seen.txt"):
        assert (
            f"--out must end in .png, .pdf, .svg, .jpg, .webp, got {name}"
            in staf("inspect", model, "-o", name).refused()
        )
        assert not (here / name).exists()


@pytest.mark.parametrize("name", ["wire", "incode"])
def test_networks_without_sinusoids_are_inspected_too(staf, picture, name):
    assert staf("fit", picture, "--steps", 2, "--model", name, "--width", 16, "--out", "run").code == 0
    document = staf("inspect", "run/model.safetensors", "--json").json
    assert document["sinusoids"] == []
    assert document["total"] == sum(row["count"] for row in document["parameters"]) > 0


def test_hash_grids_are_shown_level_by_level(staf, picture):
    assert staf("fit", picture, "--steps", 2, "--model", "ngp", "--out", "run").code == 0
    ran = staf("inspect", "run/model.safetensors")
    assert "Hash grid, level by level" in ran.out
    document = staf("inspect", "run/model.safetensors", "--json", "--overwrite").json
    layout = load("run/model.safetensors").module.encoding.layout
    assert [row["resolution"] for row in document["grid"]] == [list(level.resolution) for level in layout.levels]
    assert all(0 <= row["collided"] < 1 and 0 < row["used"] <= 1 for row in document["grid"])
    assert any(row["changed"] > 0 for row in document["grid"])
