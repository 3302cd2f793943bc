"""The tables of docs/results are what its data says, and the data says where it comes from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from paper.__main__ import main
from paper.report import page_tables
from paper.runner import RunResult
from staf._tables import Table

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def script():
    return page_tables


@pytest.mark.parametrize("name", ["audio", "shapes", "super-resolution", "denoising"])
def test_a_page_has_the_tables_of_its_data(script, name):
    page = (RESULTS / f"{name}.md").read_text("utf-8")
    found = script.tables(name)
    assert re.findall(r"<!-- table (\S+) -->", page) == [table for table in found if f"<!-- table {table} -->" in page]
    assert script.with_tables(page, found) == page
    assert page.count("| staf |") >= 3
    broken = re.sub(r"(\| staf \| ours \|) (\d)", r"\1 9\2", page, count=1)
    assert broken != page
    assert script.with_tables(broken, found) == page


@pytest.mark.parametrize(
    "name",
    ["fresh-networks", "do-sines-help", "do-sines-help-evidence", "images", "images-small", "scenes", "large-images"],
)
def test_a_page_of_several_studies_has_the_tables_of_its_data(script, name):
    page = (RESULTS / f"{name}.md").read_text("utf-8")
    found = script.tables_of_page(name)
    shown = re.findall(r"<!-- table (\S+) -->", page)
    assert shown
    assert set(shown) >= {key for key, table in found.items() if table.rows}, "what was run is shown"
    assert script.with_tables(page, found) == page


def test_every_number_names_its_run(script):
    for name in script.NAMES:
        for result in script.read(name):
            document = result.document
            assert document["experiment"] == name
            assert document["commit"]
            assert document["date"].startswith("2026-")
            assert {"torch", "staf"} <= set(document["versions"])
            assert document["machine"]
            assert len(document["data"]["sha256"]) == 64


def test_data_are_collected_from_a_run(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "DATA", tmp_path)
    np.save("wave.npy", np.sin(np.arange(400) * 0.1).astype(np.float32))
    words = ["audio", "--recording", "wave.npy", "--models", "siren", "--protocols", "paper", "--steps", "1"]
    assert (
        main([*words, "--workers", "1", "--device", "cpu", "--no-progress", "--no-figures", "--folder", "r/audio"]) == 0
    )
    monkeypatch.setattr("sys.argv", ["page_tables", "collect", "all", "r", "--commit", "abc"])
    script.main()
    (kept,) = json.loads((tmp_path / "audio.json").read_text())
    assert kept["metrics"]["psnr"] == pytest.approx(script.read("audio")[0].metrics["psnr"])
    assert kept["commit"]
    assert "history" not in kept
    np.save("other.npy", np.cos(np.arange(400) * 0.1).astype(np.float32))
    words[2] = "other.npy"
    for folder in ("s", "t"):
        assert (
            main([*words, "--workers", "1", "--device", "cpu", "--no-progress", "--no-figures", "--folder", folder])
            == 0
        )
        script.collect("audio", [folder], "abc")
        assert [run["data"]["name"] for run in json.loads((tmp_path / "audio.json").read_text())].count("wave") == 1
        assert len(script.read("audio")) == 2, "another recording stands beside, the same one takes its place"
    text = "before\n<!-- table audio -->\nold\n<!-- end -->\nafter\n"
    again = script.with_tables(text, script.tables("audio"))
    assert "| siren | paper |" in again
    assert again.startswith("before\n")
    assert "old" not in again


def test_images_of_different_sets_have_tables_of_their_own(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "DATA", tmp_path)
    for name, size in (("kodim01", 16), ("kodim02", 16), ("test_00", 32)):
        np.save(f"{name}.npy", np.random.default_rng(size).random((size, size, 3), dtype=np.float32))
    words = ["super-resolution", "--images", "kodim01.npy", "kodim02.npy", "test_00.npy", "--models"]
    assert main([*words, "--workers", "1", "--device", "cpu", "--no-progress", "--no-figures", "--folder", "r"]) == 0
    script.collect("super-resolution", ["r"], "abc")
    found = script.tables("super-resolution")
    assert list(found) == ["super-resolution", "super-resolution-seeds", "super-resolution-512"]
    small, seeds, large = found.values()
    assert seeds.rows == []
    assert small.columns[2:5] == ["kodim01", "kodim02", "mean"]
    assert large.columns[2:4] == ["test_00", "mean"]
    assert "-" not in [row[-5] for table in (small, large) for row in table.rows], "no image of the other set is missed"


def test_seeds_have_a_table_and_the_others_the_first(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "DATA", tmp_path)
    np.save("kodim01.npy", np.random.default_rng(0).random((16, 16, 3), dtype=np.float32))
    words = ["super-resolution", "--images", "kodim01.npy", "--models", "siren", "--protocols", "ours", "--steps", "2"]
    words += ["--seeds", "0", "1", "--classical", "--workers", "1", "--device", "cpu", "--folder", "r"]
    assert main([*words, "--no-progress", "--no-figures"]) == 0
    script.collect("super-resolution", ["r"], "abc")
    images, seeds = script.tables("super-resolution").values()
    first, second = (run.metrics["psnr"] for run in script.read("super-resolution"))
    assert first != second
    ((network, protocol, image, low, mean, high, count),) = seeds.rows
    assert (network, protocol, image, count) == ("siren", "ours", "kodim01", "2")
    assert [float(low), float(high)] == pytest.approx(sorted([first, second]), abs=0.006)
    assert float(mean) == pytest.approx((first + second) / 2, abs=0.006)
    assert float(images.rows[0][2]) == pytest.approx(first, abs=0.006)


def test_errors_of_colour_are_shown_where_they_were_measured(script):
    def run(model, **metrics):
        document = {
            "configuration": {"model": model, "protocol": "paper"}, "metrics": {"psnr": 20.0, **metrics},
            "data": {"name": "kodim05"},
        }  # fmt: skip
        return RunResult(Path("x"), document)

    results = [run("finer", luma_psnr=21.0, chroma_psnr=29.0), run("ffn"), run("siren", luma_psnr=22.0, chroma_psnr=31)]
    rows = script.colour_table("Denoising", results).rows
    assert [row[0] for row in rows] == ["siren", "finer"]
    assert rows[1][3:] == ["20.00", "21.00", "29.00", "-"]


def test_runs_of_other_terms_are_no_seeds_of_each_other(script):
    def run(terms, psnr, seed=0):
        document = {
            "configuration": {"model": "staf", "protocol": "ours", "terms": terms, "seed": seed},
            "metrics": {"psnr": psnr, "chroma_psnr": 30.0}, "data": {"name": "kodim05"},
        }  # fmt: skip
        return RunResult(Path("x"), document)

    runs = [run(2, 20.0), run(5, 22.0), run(5, 24.0, seed=1)]
    assert script.seed_table("Denoising", runs).rows == [
        ["staf, 5 terms", "ours", "kodim05", "22.00", "23.00", "24.00", "2"]
    ]
    assert {row[0] for row in script.colour_table("Denoising", runs).rows} == {"staf, 2 terms", "staf, 5 terms"}


def test_what_was_not_run_is_said(script):
    page = "<!-- table kodak -->\n<!-- end -->\n"
    assert "\nNot run.\n" in script.with_tables(page, {"kodak": Table("Kodak", [], [])})


def test_a_later_run_takes_the_place_of_an_earlier_one_that_knew_fewer_options(script):
    def place(**configuration):
        return script._place({"configuration": configuration, "data": {"sha256": "x"}})

    assert place(model="staf") == place(model="staf", planned_for="cuda", terms=None)
    assert place(model="staf") != place(model="staf", terms=2)


def test_longer_fits_of_shapes_have_a_table_of_their_own(script):
    def run(model, steps, iou):
        document = {
            "configuration": {"model": model, "resolution": 256}, "details": {"steps": steps},
            "metrics": {"iou": iou}, "data": {"name": "lucy"},
        }  # fmt: skip
        return RunResult(Path("x"), document)

    table = script.long_table([run("finer", 2000, 0.5), run("staf", 2000, 0.75), run("staf", 2000, 0.25)])
    assert table.columns == ["shape", "voxels", "steps", "staf", "finer"]
    assert table.rows == [["lucy", "256", "2,000", "0.50000 ± 0.35355 (2)", "0.50000"]]
    assert script.long_table([run("staf", 2000, 0.75)], "chamfer").rows == [], "it was not measured"


def test_pictures_are_small_and_named():
    for picture in (RESULTS / "img").iterdir():
        assert picture.stat().st_size < 300_000
        assert any(f"img/{picture.name}" in page.read_text("utf-8") for page in RESULTS.glob("*.md"))
