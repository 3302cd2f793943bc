from __future__ import annotations

import csv
import subprocess
import sys

import pytest

from paper.__main__ import main
from paper.protocols.plan_variants import PlanVariant
from paper.runner import load_results
from paper.searches.search_log import COLUMNS, best_variants, log_rows, ranked, read_log
from tests.paper.stack import QUIET, stack


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    words = ["recipe-search", "--images", stack(folder), "--models", "siren", "gauss", "--trials", "3", "--steps", "3"]
    assert main([*words, *QUIET, "--folder", str(folder / "r"), "--optimisers", "muon"]) == 0
    return folder / "r"


def test_every_network_has_every_trial_on_every_image(searched):
    results = load_results(searched, "recipe-search")
    keys = {(r.configuration["variant"]["model"], r.configuration["trial"], r.data_name) for r in results}
    assert len(keys) == len(results) == 2 * 3 * 2
    for result in results:
        wanted = result.configuration["variant"]["recipe"]
        assert {name: result.details["recipe"][name] for name in wanted} == dict(wanted)
        for name, value in result.configuration["variant"]["arguments"].items():
            assert result.details["architecture"]["arguments"][name] == value
        assert len(result.history["loss"]) == 3


def test_the_log_says_all_of_it_and_the_best_is_read_back(searched):
    with (searched / "recipe-search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 12
    assert rows == read_log(searched)
    best, signals = best_variants(searched / "recipe-search.csv")
    assert signals == {"one", "two"}
    results = load_results(searched, "recipe-search")
    for model in ("siren", "gauss"):
        means = {}
        for trial in range(3):
            values = [
                r.metrics["psnr"]
                for r in results
                if (r.configuration["variant"]["model"], r.configuration["trial"]) == (model, trial)
            ]
            means[trial] = sum(values) / 2
        place = max(means, key=means.get)
        chosen = next(
            r for r in results if (r.configuration["variant"]["model"], r.configuration["trial"]) == (model, place)
        )
        assert best[model] == PlanVariant(**chosen.configuration["variant"])


def test_a_trial_that_diverged_or_is_not_whole_is_never_the_best(searched):
    rows = log_rows(load_results(searched, "recipe-search"))
    winner = ranked(rows)["siren"][0].number
    spoilt = [
        {**row, "diverged": "1", "psnr": "99"} if row["model"] == "siren" and int(row["trial"]) == winner else row
        for row in rows
    ]
    assert ranked(spoilt)["siren"][0].number != winner
    assert ranked(spoilt)["siren"][-1].number == winner
    partial = [row for row in rows if not (int(row["trial"]) == winner and row["signal"] == "two")]
    assert winner not in [trial.number for trial in ranked(partial)["siren"]]


def test_the_same_command_runs_nothing_again_and_drawing_needs_no_torch(searched, capsys):
    before = {path: path.stat().st_mtime_ns for path in searched.glob("*-*.json")}
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom paper.__main__ import main\n"
        "sys.exit(main(['recipe-search', '--folder', sys.argv[1], '--draw-only']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(searched)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "best trial" in done.stdout
    assert (searched / "recipe-search.png").stat().st_size > 5_000
    assert {path: path.stat().st_mtime_ns for path in searched.glob("*-*.json")} == before


def test_mistakes_are_named(tmp_path, capsys):
    path = stack(tmp_path)
    for words, message in (
        ([], "needs data: "),
        (["--images", path, "--optimisers", "adamm"], "--optimisers must be among"),
        (["--images", path, "--models", "sirren"], "got 'sirren'"),
        (["--images", path, "--trials", "0"], "trials must be at least 1"),
    ):
        assert main(["recipe-search", *words, *QUIET, "--folder", str(tmp_path / "r")]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is not the log of a recipe search"):
        read_log(tmp_path / "other.csv")
    with pytest.raises(ValueError, match="which does not exist"):
        read_log(tmp_path / "none.csv")
