from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from paper.__main__ import main
from paper.experiments import model_table
from paper.experiments.model_table import BOTH, table
from paper.measures.network_size import LIMIT
from paper.protocols import variant_run
from paper.protocols.plan_variants import PlanVariant
from paper.runner import load_results
from paper.searches.search_log import COLUMNS
from tests.paper.stack import QUIET, stack


def log(path, **tuned):
    """A log in which the second trial is the best of every network."""
    rows = [",".join(COLUMNS)]
    for model, (recipe, arguments) in tuned.items():
        for trial, (psnr, changed) in enumerate(((20, ("{}", "{}")), (30, (recipe, arguments)))):
            entries = dict.fromkeys(COLUMNS, "0") | {"model": model, "trial": str(trial), "signal": "one"}
            entries |= {"psnr": str(psnr), "recipe": changed[0], "arguments": changed[1]}
            rows.append(",".join('"' + entries[name].replace('"', '""') + '"' for name in COLUMNS))
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tuned = log(folder / "log.csv", staf=("{}", "{}"), siren=('{"rate": 0.002}', '{"omega0": 20.0}'), ffn=("{}", "{}"))
    words = ["model-table", "--images", stack(folder), "--models", "staf", "siren", "ffn", "--recipes", "default"]
    words += ["tuned", "--tuned", tuned, "--equal", "steps", "time", "size", "--seeds", "0", "1", "--steps", "2"]
    steps, model_table.PROBED_STEPS = model_table.PROBED_STEPS, 3
    # Step times as if SIREN were twice as fast as STAF and FFN half as fast.
    speeds = {"staf": 0.2, "siren": 0.1, "ffn": 0.4}
    real, variant_run.step_seconds = (
        variant_run.step_seconds,
        lambda signal, variant, device, steps, of: speeds[variant.model],
    )
    try:
        assert main([*words, *QUIET, "--folder", str(folder / "r")]) == 0
    finally:
        model_table.PROBED_STEPS, variant_run.step_seconds = steps, real
    return load_results(folder / "r", "model-table")


def rows(results, equal):
    drawn = table(results)
    place = {name: drawn.columns.index(name) for name in drawn.columns}
    found = {}
    for row in drawn.rows:
        if row[0] == equal:
            found[row[1], row[2]] = {name: row[i] for name, i in place.items()}
    return found


def test_the_best_trial_is_what_runs_as_tuned(compared):
    tuned = [r for r in compared if r.configuration["recipe"] == "tuned"]
    assert {r.configuration["variant"]["model"] for r in tuned} == {"siren"}
    assert {r.details["recipe"]["rate"] for r in tuned} == {0.002}
    assert {r.details["architecture"]["arguments"]["omega0"] for r in tuned} == {20.0}
    # Networks whose best trial is the default plan run once.
    assert {r.configuration["variant"]["model"] for r in compared if r.configuration["recipe"] == BOTH} == {
        "staf",
        "ffn",
    }


def test_signals_that_were_tuned_on_are_marked_and_left_out_of_a_mean(compared):
    assert {r.data_name for r in compared if r.details["tuned_on"]} == {"one"}
    row = rows(compared, "steps")["siren", "default"]
    members = [
        r
        for r in compared
        if r.configuration["recipe"] == "default"
        and r.configuration["variant"]["model"] == "siren"
        and r.configuration["reference"] is None
    ]
    assert len(members) == int(row["runs"]) == 4
    by_name = {name: [r.metrics["psnr"] for r in members if r.data_name == name] for name in ("one", "two")}
    assert float(row["mean (dB)"]) == pytest.approx(np.mean([np.mean(v) for v in by_name.values()]), abs=0.006)
    assert float(row["held out"]) == pytest.approx(np.mean(by_name["two"]), abs=0.006)
    assert float(row["worst signal"]) == pytest.approx(min(np.mean(v) for v in by_name.values()), abs=0.006)
    seeds = [np.mean([r.metrics["psnr"] for r in members if r.configuration["seed"] == seed]) for seed in (0, 1)]
    assert float(row["sd of seeds"]) == pytest.approx(np.std(seeds, ddof=1), abs=0.006)


def test_equal_time_gives_a_fast_network_more_steps(compared):
    found = rows(compared, "time")
    assert {key: row["steps"] for key, row in found.items()} == {
        ("staf", BOTH): "2",
        ("siren", "default"): "4",
        ("siren", "tuned"): "4",
        ("ffn", BOTH): "1",
    }


def test_equal_size_narrows_what_is_too_large(compared):
    found = rows(compared, "size")
    sizes = {model: int(row["size"].replace(",", "")) for (model, _), row in found.items()}
    assert set(sizes) == {"staf", "siren", "ffn"}
    assert max(sizes.values()) <= LIMIT
    assert int(rows(compared, "steps")["ffn", BOTH]["size"].replace(",", "")) > LIMIT
    assert found["siren", "default"]["mean (dB)"] == rows(compared, "steps")["siren", "default"]["mean (dB)"]


def test_drawing_needs_no_torch(compared):
    folder = compared[0].path.parent
    (folder / "model-table.png").unlink()
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom paper.__main__ import main\n"
        "sys.exit(main(['model-table', '--folder', sys.argv[1], '--draw-only']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "model-table.png").stat().st_size > 5_000


def test_a_step_is_timed_once(tmp_path, monkeypatch):
    from paper.data.sources import image_sources, open_source

    monkeypatch.setattr(variant_run, "_measured", {})
    sources = image_sources([stack(tmp_path)])
    first = variant_run.step_seconds(open_source(sources["one"], "one"), PlanVariant("siren"), "cpu", 4, 4)
    assert 0 < first < 10
    assert variant_run.step_seconds(open_source(sources["two"], "two"), PlanVariant("siren"), "cpu", 4, 4) == first
    assert len(variant_run._measured) == 1


def test_the_short_fit_has_the_recipe_of_the_long_one(tmp_path, monkeypatch):
    import staf.api
    from paper.data.sources import image_sources, open_source

    seen = []

    def fit(signal, plan, **options):
        seen.append(plan.recipe)
        return type("Fit", (), {"history": type("History", (), {"seconds": [1.0, 2.0]})()})()

    monkeypatch.setattr(variant_run, "_measured", {})
    monkeypatch.setattr(staf.api, "fit", fit)
    np.save(tmp_path / "large.npy", np.zeros((1, 192, 192, 3), np.uint8))
    (source,) = image_sources([tmp_path / "large.npy"]).items()
    variant_run.step_seconds(open_source(source[1], source[0]), PlanVariant("siren"), "cuda", 20, 1000)
    assert (seen[0].optimiser, seen[0].steps) == ("soap", 20)


def test_a_recording_by_published_schedules_and_by_ours(tmp_path, capsys):
    np.save(tmp_path / "wave.npy", np.sin(np.arange(600) * 0.1).astype(np.float32))
    words = ["model-table", "--recording", str(tmp_path / "wave.npy"), "--rate", "8000", "--models", "staf", "siren"]
    words += ["--recipes", "default", "paper", "--steps", "2", "--folder", str(tmp_path / "r"), *QUIET]
    assert main(words) == 0
    found = {(r.configuration["variant"]["model"], r.configuration["recipe"]) for r in load_results(tmp_path / "r")}
    assert found == {(model, recipe) for model in ("staf", "siren") for recipe in ("default", "paper")}
    capsys.readouterr()


def test_mistakes_are_named(tmp_path, capsys):
    path = stack(tmp_path)
    tuned = log(tmp_path / "log.csv", staf=("{}", "{}"))
    for words, message in (
        ([], "needs data: "),
        (["--images", path, "--recipes", "tuned"], "--tuned must name the log"),
        (["--images", path, "--recipes", "tuned", "--tuned", tuned, "--models", "siren"], "lacks siren"),
        (["--images", path, "--models", "sirren"], "no model 'sirren'"),
    ):
        assert main(["model-table", *words, *QUIET, "--folder", str(tmp_path / "r")]) == 2
        assert message in capsys.readouterr().err
