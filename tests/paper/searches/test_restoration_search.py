"""Equal trials for restorations: run small, read back, and drawn from their files alone."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from paper.__main__ import main
from paper.protocols.published import MODELS
from paper.runner import load_results
from paper.searches.restoration_space import TASKS, in_code, planned, settings_of, trials
from paper.searches.search_log import COLUMNS, ranked, read_log
from staf.nn import networks
from staf.nn.networks import Settings
from staf.planning import Budget
from staf.planning.restoration import denoising, super_resolution
from tests.paper.stack import QUIET
from tests.tasks.pictures import scene

NAME = "restoration-search"


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    np.save(folder / "scene.npy", scene(16, 16).array)
    words = [NAME, "--images", str(folder / "scene.npy"), "--models", "staf", "gauss", "--trials", "2", "--steps", "3"]
    assert main([*words, *QUIET, "--folder", str(folder / "r")]) == 0
    return folder / "r"


def test_every_network_has_every_trial_of_every_task_as_it_was_chosen(searched):
    results = load_results(searched, NAME)
    keys = {(r.configuration["task"], r.configuration["variant"]["model"], r.configuration["trial"]) for r in results}
    assert len(keys) == len(results) == 2 * 2 * 2
    for result in results:
        variant = result.configuration["variant"]
        assert result.details["recipe"]["rate"] == result.details["recipe"]["matrix_rate"] == variant["recipe"]["rate"]
        assert result.details["recipe"]["batch"] is None
        built = result.details["architecture"]["arguments"]
        assert variant["arguments"]["constants"].items() <= built.items()
        if variant["arguments"]["per_pixel"] is not None:
            # Seen at 4x4 pixels, where omega0 is at its least.
            assert built["omega0"] == 1.0
        assert len(result.history["loss"]) == 3


def test_trial_0_is_what_the_experiments_run(searched, tmp_path):
    found = {
        (r.configuration["task"], r.configuration["variant"]["model"]): r
        for r in load_results(searched, NAME)
        if r.configuration["trial"] == 0
    }
    for task in TASKS:
        words = [task, "--images", str(searched.parent / "scene.npy"), "--models", "staf", "gauss", "--classical"]
        words += ["--protocols", "ours", "--steps", "3", "--no-figures", "--folder", str(tmp_path / task)]
        assert main([*words, *QUIET]) == 0
        for result in load_results(tmp_path / task, task):
            same = found[task, result.configuration["model"]]
            assert same.metrics["psnr"] == pytest.approx(result.metrics["psnr"], abs=1e-4)
            assert same.details["recipe"] == result.details["recipe"]
            assert same.details["kept_step"] == result.details.get("kept_step", 3)


def test_logs_are_read_back_and_the_table_says_what_to_write(searched):
    words = (searched / f"{NAME}.md").read_text()
    for task in TASKS:
        path = searched / f"{NAME}-{task}.csv"
        with path.open() as file:
            rows = list(csv.DictReader(file))
        assert tuple(rows[0]) == COLUMNS
        assert rows == read_log(path)
        assert len(rows) == 4
        results = [r for r in load_results(searched, NAME) if r.configuration["task"] == task]
        for model, found in ranked(rows).items():
            values = {
                r.configuration["trial"]: r.metrics["psnr"]
                for r in results
                if r.configuration["variant"]["model"] == model
            }
            assert found[0].number == max(values, key=values.get)
            row = next(line for line in words.splitlines() if line.startswith(f"| {model} | {task} |"))
            assert f"| {found[0].number} | {in_code(found[0].variant)} |" in row
            assert eval(in_code(found[0].variant), {"Settings": Settings}) == settings_of(found[0].variant)
            assert json.loads(found[0].rows[0]["recipe"]) == {"rate": float(found[0].rows[0]["rate"])}
        assert (searched / f"{NAME}-{task}.png").stat().st_size > 5_000


@pytest.mark.parametrize("task", TASKS)
def test_the_same_places_for_every_network_over_constants_that_it_has(task):
    factors = {}
    for model in MODELS:
        tried = trials(task, model, 9, seed=3)
        default = planned(task, model)
        assert settings_of(tried[0]) == default
        rates = [settings_of(trial).rate / default.rate for trial in tried[1:]]
        factors[model] = [math.log(rate) for rate in rates]
        assert min(rates) < 0.35
        assert max(rates) > 2.8
        assert len({json.dumps(trial.arguments, sort_keys=True) for trial in tried}) >= 7
        for trial in tried:
            settings = settings_of(trial)
            assert settings.constants.get("terms") == default.constants.get("terms")
            assert (settings.per_pixel is None) == (default.per_pixel is None)
        named = {"in_features": 2, "out_features": 3, "width": 8, **settings_of(tried[1]).constants}
        networks.build({"name": model, "arguments": named}, device="meta")
    for found in factors.values():
        assert found == pytest.approx(factors["staf"], abs=0.01)
    assert trials(task, "siren", 5, seed=1) != trials(task, "siren", 5, seed=2)


def test_wavelets_of_a_trial_never_grow_by_more_than_e():
    for trial in trials("denoising", "wire", 30)[1:]:
        constants = trial.arguments["constants"]
        assert constants["omega0"] == constants["hidden_omega0"]
        assert (constants["omega0"] / (2 * constants["sigma0"])) ** 2 < 1.01


def test_trials_stay_about_the_plan_of_a_gpu():
    from paper.searches.restoration_search import RestorationTrial, task_and_plan

    image = scene(96, 96)
    for task, make in (("super-resolution", super_resolution), ("denoising", denoising)):
        run = RestorationTrial(task, "scene", trials(task, "siren", 1)[0], 0, 5)
        built, plan = task_and_plan(image, run)
        assert plan.recipe.batch is None
        assert plan.recipe == make(built, Budget(steps=5), device="cuda", model="siren").recipe
    assert len(built.held_out_index) == round(0.05 * 96 * 96)


def test_drawing_needs_no_torch_and_changes_no_result(searched):
    # That running needs torch and numpy alone is held by tests/paper/test_quick_runs.py, for every experiment.
    bare = "import sys\nsys.modules['torch'] = None\nfrom paper.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    before = {path: path.stat().st_mtime_ns for path in searched.glob("*-*.json")}
    words = [NAME, "--folder", str(searched), "--draw-only"]
    done = subprocess.run([sys.executable, "-c", bare, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "best settings" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in searched.glob("*-*.json")} == before


def test_mistakes_are_named(searched, tmp_path, capsys):
    path = str(searched.parent / "scene.npy")
    for words, message in (
        ([], "needs data: "),
        (["--images", path, "--models", "sirren"], "got 'sirren'"),
        (["--images", path, "--trials", "0"], "trials must be at least 1"),
    ):
        assert main([NAME, *words, *QUIET, "--folder", str(tmp_path / "r")]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([NAME, "--images", path, "--task", "inpainting"])
