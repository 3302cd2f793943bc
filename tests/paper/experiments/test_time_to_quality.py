from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from paper.__main__ import main
from paper.data.sources import image_sources, open_source
from paper.protocols.released_loop import ReleasedStaf, train_released
from paper.report.quality_tables import released_table, seconds_table
from paper.runner import RunResult, load_results
from staf.planning import plans
from staf.tasks import Reconstruction
from tests.paper.stack import QUIET, stack


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("time")
    words = ["time-to-quality", "--images", stack(folder), "--pick", "0", "--models", "staf", "siren"]
    words += ["--budgets", "2", "5", "--epochs", "3", "--folder", str(folder / "r"), *QUIET]
    assert main(words) == 0
    return load_results(folder / "r", "time-to-quality")


def test_every_recipe_runs_and_keeps_its_clock(timed):
    found = {(r.configuration["model"], r.configuration["recipe"], r.configuration["budget"]) for r in timed}
    assert found == {
        *((model, "default", steps) for model in ("staf", "siren") for steps in (2, 5)),
        *((model, "adam", 5) for model in ("staf", "siren")),
        *(("staf", recipe, 3) for recipe in ("paper", "released", "released code")),
    }
    for result in timed:
        seconds = result.history["seconds"]
        assert seconds == sorted(seconds)
        assert result.details["training_seconds"] == pytest.approx(seconds[-1], abs=1e-3)
        assert len(result.history["loss"]) == len(seconds)


def test_the_released_code_is_the_released_recipe(timed):
    both = {r.configuration["recipe"]: r for r in timed if r.configuration["recipe"].startswith("released")}
    # Same start and same batches but in another order: close, and far from the paper's own.
    assert both["released"].metrics["psnr"] == pytest.approx(both["released code"].metrics["psnr"], abs=1.0)
    assert both["released"].details["steps"] == both["released code"].details["steps"] == 3
    assert both["released"].details["parameters"] == both["released code"].details["parameters"]
    assert (folder_of(timed) / "time-to-quality.png").stat().st_size > 10_000
    assert "times sooner" in (folder_of(timed) / "time-to-quality.md").read_text()


def test_the_eager_loop_visits_every_pixel_once_an_epoch(tmp_path):
    image = open_source(image_sources([stack(tmp_path)])["one"], "one")
    plan = plans.released_staf_image(image)
    task = Reconstruction(image, "ends")
    field = plan.field(0)
    network = ReleasedStaf(field)
    coordinates = task.batch(None).coordinates
    assert torch.allclose(network(coordinates), field(coordinates), atol=1e-3)
    first = float((field(coordinates) - task.target).square().mean().detach())
    recipe = plan.recipe.replace(epochs=10, batch=50)
    trained, columns = train_released(task, field, recipe, seed=0, epochs=2)
    assert columns["step"] == [2, 5]
    assert columns["loss"][0] == pytest.approx(first, rel=0.5)
    assert columns["loss"][1] < columns["loss"][0]
    moved = [not torch.equal(a, b) for a, b in zip(trained.parameters(), network.parameters(), strict=True)]
    assert all(moved)


def folder_of(results):
    return results[0].path.parent


def result(recipe, budget, psnr, seconds, start=0.5, image="one", model="staf", reached=None):
    return RunResult(
        Path(),
        {
            "configuration": {"model": model, "recipe": recipe, "budget": budget, "seed": 0},
            "data": {"name": image},
            "metrics": {"psnr": "nan" if math.isnan(psnr) else psnr},
            "details": {
                "steps": budget,
                "training_seconds": seconds,
                "start_seconds": start,
                "step_ms": 1.0,
                "reached": reached or {},
            },
        },
    )


def test_the_shortest_budget_that_is_good_enough_counts():
    ours = [result("default", 50, 30, 0.1), result("default", 100, 41, 0.2), result("default", 400, 55, 0.8)]
    released = [result("released", 1000, 40, 4.0, start=1.5), result("released code", 1000, math.nan, 60.0, start=0.1)]
    drawn = released_table([*ours, *released])
    rows = {(row[0], row[1]): row for row in drawn.rows}
    # A code timed in part has the quality of the recipe that ran whole.
    assert rows["one", "released code"][2:] == ["40.00", "60.00", "100", "41.00", "0.200", "0.700", "300.0", "85.9"]
    assert rows["one", "released"][-2:] == ["20.0", "7.9"]
    assert rows["geometric mean", "released code"][-2:] == ["300.0", "85.9"]


def test_a_quality_that_is_never_reached_is_told():
    drawn = released_table([result("default", 50, 30, 0.1), result("released", 1000, 40, 4.0)])
    assert drawn.rows == [["one", "released", "40.00", "4.00", *["-"] * 6]]


def test_seconds_to_a_level_are_of_all_images_and_the_soonest_budget():
    runs = [
        result("default", 50, 36, 0.1, reached={"30": 0.05, "35": 0.09}),
        result("default", 50, 34, 0.1, image="two", reached={"30": 0.07}),
        result("default", 100, 46, 0.2, start=9.0, reached={"30": 0.1, "35": 0.14}),
        result("default", 100, 44, 0.2, image="two", reached={"30": 0.1, "35": 0.16}),
    ]
    drawn = seconds_table(runs)
    at = drawn.columns.index("to 30 dB")
    assert [row[at : at + 3] for row in drawn.rows] == [
        ["0.060", "-", "-"],
        ["0.100", "0.150", "-"],
        ["0.060", "0.150", "-"],
    ]
    assert drawn.rows[0][2] == "35.00"
    assert drawn.rows[0][4:6] == ["9.00", "0.50"]
    assert drawn.rows[2][1] == "soonest"


def test_part_of_the_released_epochs_gives_a_time_and_no_quality(tmp_path, capsys):
    words = ["time-to-quality", "--images", stack(tmp_path), "--pick", "0", "--models", "staf", "--epochs", "12"]
    words += ["--recipes", "released code", "--timed", "4", "--folder", str(tmp_path / "r"), *QUIET, "--no-figures"]
    assert main(words) == 0
    (only,) = load_results(tmp_path / "r")
    assert np.isnan(only.metrics["psnr"])
    assert (only.details["steps"], only.details["timed_epochs"]) == (12, 4)
    assert only.details["training_seconds"] == pytest.approx(3 * only.history["seconds"][-1], rel=0.01)
    capsys.readouterr()


def test_mistakes_are_named(tmp_path, capsys):
    for words, message in (
        ([], "needs data: "),
        (["--images", stack(tmp_path), "--models", "sirren"], "no model 'sirren'"),
        (["--images", stack(tmp_path), "--epochs", "0"], "--budgets and --epochs must be at least 1"),
    ):
        assert main(["time-to-quality", *words, *QUIET, "--folder", str(tmp_path / "r")]) == 2
        assert message in capsys.readouterr().err
