"""Image studies: full and small networks are not mixed, and seconds are of the runs that had the machine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.experiments.tau_ablation import STUDY
from paper.report.image_tables import is_small, of_all_rows, pairs_table, study_tables, without_seconds
from paper.runner import RunResult
from staf._tables import Table


def run(
    terms: int, psnr: float, *, image: str = "kodim05", device: str = "cuda", seed: int = 0, **arguments: int
) -> RunResult:
    document = {
        "configuration": {
            "row": {"name": f"tau {terms}", "arguments": {"terms": terms, **arguments}},
            "protocol": "ours", "length": {"iterations": 500}, "seed": seed,
        },
        "details": {
            "training_seconds": 2.0 * terms,
            "images": {image: {"psnr": psnr, "training_seconds": 2.0 * terms, "inference_seconds": 0.5}},
        },
        "data": {"name": image}, "device": device, "machine": "a machine",
    }  # fmt: skip
    return RunResult(Path("x"), document)


def test_small_networks_have_a_table_of_their_own():
    results = [run(2, 30.0), run(2, 40.0, image="kodim23"), run(2, 10.0, width=64, device="cpu")]
    assert [is_small(result) for result in results] == [False, False, True]
    found = study_tables(STUDY, results)
    parts = ["", "-small", "-pairs", "-small-pairs", "-seconds"]
    assert list(found) == [f"tau-ablation{part}" for part in parts]
    full, small, *_ = found.values()
    assert [row[0] for row in full.rows] == [row[0] for row in small.rows] == ["tau 2"]
    assert any(cell.startswith("35.00") for cell in full.rows[0])
    assert "10.00" in small.rows[0]
    assert not any(name.startswith("training") for name in full.columns)


def test_fits_of_full_size_by_a_cpu_have_a_table_of_their_own():
    mixed = [run(2, 30.0), run(2, 40.0, device="cpu", seed=1), run(5, 50.0, device="cpu"), run(2, 9.0, width=64)]
    found = study_tables(STUDY, mixed)
    (fast,) = found["tau-ablation"].rows
    assert "30.00" in fast
    assert [
        (row[0], next(cell for cell in row if cell.endswith("0.00"))) for row in found["tau-ablation-cpu"].rows
    ] == [
        ("tau 2", "40.00"),
        ("tau 5", "50.00"),
    ]
    assert "tau-ablation-cpu" not in study_tables(STUDY, mixed[1:3]), "of one machine alone there is one table"


def test_ranks_of_small_networks_are_of_the_seed_that_all_have():
    from paper.experiments.distortion_perception import STUDY as RANKS

    def small(name: str, psnr: float, seed: int) -> RunResult:
        one = run(1, psnr, device="cpu", seed=seed)
        row = {"name": name, "arguments": {"width": 64}}
        return RunResult(Path("x"), {**one.document, "configuration": {**one.configuration, "row": row}})

    runs = [small("staf", 30.0, 0), small("siren", 25.0, 0), small("staf", 10.0, 1)]
    table = study_tables(RANKS, runs)["distortion-perception-small"]
    rank = table.columns.index("our default: PSNR")
    assert {row[0]: row[rank] for row in table.rows if row[rank] != "-"} == {"staf": "1", "siren": "2"}


def test_seconds_are_of_the_image_that_ran_alone():
    results = [run(2, 30.0), run(5, 30.0), run(5, 30.0, image="kodim23"), run(2, 10.0, width=64, device="cpu")]
    results.insert(0, run(3, 30.0, seed=1))
    seconds = study_tables(STUDY, results)["tau-ablation-seconds"]
    training = seconds.columns.index("training (s), our default")
    assert len(set(seconds.columns)) == len(seconds.columns)
    assert [(row[0], float(row[training])) for row in seconds.rows] == [("tau 2", 4.0), ("tau 5", pytest.approx(10.0))]
    assert study_tables(STUDY, results[4:])["tau-ablation-seconds"].rows == []


def test_costs_are_counts_and_quality_apart():
    from paper.experiments.cost_table import STUDY as COSTS

    one = run(5, 30.0)
    counts = {"parameters": 198_975, "operations": {"products": 100, "elementwise": 7}, "memory": 3 * 2**29}
    counts |= {"inference_seconds": 0.00123}
    row = {"name": "staf, tau 5", "arguments": {}}
    configuration = {**one.configuration, "row": row}
    document = {**one.document, "configuration": configuration, "details": {**one.details, **counts}}
    found = study_tables(COSTS, [RunResult(Path("x"), document)])
    (cost,) = found["cost-table"].rows
    assert {"198,975", "107", "7.0%"} <= set(cost), "networks that were not run are left out"
    assert "30.00" in found["cost-table-quality"].rows[0]
    columns = ["network", "training (s), our default", "inference (s), our default", "memory (GiB), our default"]
    assert found["cost-table-seconds"].columns == columns
    assert found["cost-table-seconds"].rows == [["staf, tau 5", "10.00", "0.00123", "1.50"]]
    assert not set(columns[1:]) & set(found["cost-table"].columns)


def test_of_one_image_the_spread_is_over_its_seeds():
    (row,) = study_tables(STUDY, [run(2, 30.0), run(2, 32.0, seed=1)])["tau-ablation"].rows
    assert row[1:3] == ["37.07 ± 4.58", "31.00 ± 1.41"]
    assert row[-2:] == ["1", "2"]
    results = [run(2, 30.0), run(2, 32.0, seed=1), run(2, 41.0, image="kodim23")]
    (row,) = study_tables(STUDY, results)["tau-ablation"].rows
    assert row[2] == "36.00 ± 7.07", "of several images it is over these"


def test_made_pictures_of_short_fits_are_small():
    from paper.experiments.mixed_frequencies import STUDY as MADE

    def made(iterations: int, psnr: float, **arguments: int) -> RunResult:
        one = run(5, psnr, image="one wave", **arguments)
        configuration = {**one.configuration, "length": {"iterations": iterations}}
        return RunResult(Path("x"), {**one.document, "experiment": MADE.name, "configuration": configuration})

    full, small, narrow = study_tables(MADE, [made(500, 60.0), made(100, 50.0), made(500, 40.0, width=64)]).values()
    assert (full.rows[0][-1], small.rows[0][-1], narrow.rows[0][-1]) == ("60.0", "50.0", "40.0")


def test_a_column_of_nothing_but_the_best_value_is_left_out():
    def table(*cells: str) -> list[str]:
        return without_seconds(Table("", ["network", "SSIM", "LPIPS"], [["staf", *cells], ["siren", *cells]])).columns

    assert table("1.0000 ± 0.0000", "0.00000") == ["network"]
    assert table("1.0000 ± 0.0001", "0.00000 ± 0.00000") == ["network", "SSIM"]
    assert table("0.9999", "0.00001") == ["network", "SSIM", "LPIPS"]
    one_row = without_seconds(Table("", ["network", "SSIM"], [["staf", "1.0000"]]))
    assert one_row.columns == ["network", "SSIM"], "one row is told apart by nothing"


def test_pairs_are_of_one_image_and_one_seed_and_seeds_are_told_from_images():
    results = [run(5, 30.0, seed=seed) for seed in range(3)] + [run(2, 31.0 + seed, seed=seed) for seed in range(3)]
    table = pairs_table(STUDY, results, "tau 5")
    assert table.columns == ["network", "recipe", "dB over tau 5", "pairs won", "over"]
    assert table.rows == [["tau 2", "our default", "+2.00 ± 1.00", "3 of 3", "seeds of kodim05"]]
    images = ["kodim01", "kodim02"]
    more = [run(5, 30.0, image=image) for image in images] + [run(2, 29.0, image=image) for image in images]
    rows = pairs_table(STUDY, [*results, *more], "tau 5").rows
    assert [row[-1] for row in rows] == ["seeds of kodim05", "images, seed 0"]
    assert rows[1][2:4] == ["-0.33 ± 1.15", "1 of 3"]
    assert pairs_table(STUDY, more, "tau 5").rows == [], "two pairs have no spread worth a word"
    assert pairs_table(STUDY, [], "tau 5").rows == []


def test_means_are_of_images_that_every_row_has():
    both = [run(2, 30.0), run(5, 30.0)]
    alone = [run(2, 40.0, image="kodim23"), run(2, 50.0, seed=1)]
    assert of_all_rows([*both, *alone]) == both
    assert of_all_rows([run(2, 30.0), run(5, 30.0, image="kodim23")])[0].data_name == "kodim05", "none is left out"
    assert of_all_rows([]) == []
