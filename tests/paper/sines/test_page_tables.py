"""The tables pair what belongs together and keep apart what was searched, what is smaller and what has other rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.runner.result import RunResult
from paper.sines.figure import figure, questions_of
from paper.sines.merged import gain, merged, of, own_rates
from paper.sines.page import bytes_table, evidence_tables, page_tables, solved_table
from paper.sines.summary import LINES, first_of, told_apart
from paper.sines.tables import base_of, gain_of, part_table, scene_table, tables

MANY = {"0.002": 1.0, "0.004": 2.0}


def _run(part, arm, values, *, size=128, rate=2e-3, factor=1.0, search=None, width=64, steps=150, date="1", **others):
    """A run of signal `a` with as many seeds as values; `values` may name the signals, and `seeds` the seeds."""
    signals = values if isinstance(values, dict) else {"a": values}
    seeds = others.pop("seeds", range(len(next(iter(signals.values())))))
    omega_rate, device = others.pop("omega_rate", None), others.pop("device", "cpu")
    configuration = {
        "part": part, "arm": arm, "size": size, "factor": factor, "omega_rate": omega_rate, "steps": steps,
        "width": width, "seeds": list(seeds),
    }  # fmt: skip
    details = {"values": signals, "rate": rate, "search": search or {}, "parameters": 9, "width": width, "steps": steps}
    document = {"configuration": configuration, "details": details | others, "device": device, "date": date}
    return RunResult(Path("x"), document)


def test_runs_of_other_signals_and_seeds_join_and_a_later_one_counts():
    runs = [
        _run("grids", "frozen sine", {"b": [9.0]}, date="3"),
        _run("grids", "frozen sine", [1.0, 2.0], date="1"),
        _run("grids", "frozen sine", [5.0, 6.0], seeds=[1, 2], date="2"),
    ]
    (found,) = merged(runs)
    assert found.values == {("a", 0): 1.0, ("a", 1): 5.0, ("a", 2): 6.0, ("b", 0): 9.0}
    assert len(merged([*runs, _run("grids", "frozen sine", [1.0], rate=4e-3)])) == 2
    assert len(merged([*runs, _run("grids", "frozen sine", [1.0], steps=500)])) == 2


def test_fits_of_a_gpu_and_of_a_cpu_neither_join_nor_are_compared():
    runs = [_run("grids", "frozen sine", [1.0, 2.0], device="cuda"), _run("grids", "frozen sine", [5.0, 5.0])]
    runs += [_run("grids", "5 sines a layer", [2.0, 4.0], device="cuda"), _run("grids", "trained Omega", [5.0, 8.0])]
    fits = merged(runs)
    assert [(one.arm, one.machine) for one in fits] == [
        ("frozen sine", "CPU"), ("frozen sine", "GPU"), ("trained Omega", "CPU"), ("5 sines a layer", "GPU"),
    ]  # fmt: skip
    gains = {one.arm: list(gain_of(one, fits).values()) for one in fits if one.arm != "frozen sine"}
    assert gains == {"trained Omega": [0.0, 3.0], "5 sines a layer": [1.0, 2.0]}
    (row,) = page_tables(runs)["sines-summary"].rows
    assert (row[2], row[3], row[-1]) == ("", "+1.50 ±0.50", "1 x 2, 0.002, GPU")


def test_the_search_is_the_mean_over_the_seeds_of_all_runs():
    runs = [_run("scenes", "frozen sine", [1.0, 2.0], search={"0.002": 3.0})]
    runs += [_run("scenes", "frozen sine", [1.0], seeds=[2], search={"0.002": 6.0})]
    assert merged(runs)[0].search == {"0.002": 4.0}


def test_differences_are_taken_pair_by_pair():
    runs = [_run("grids", "frozen sine", {"a": [1.0, 2.0], "b": [7.0, 7.0]})]
    runs += [_run("grids", "5 sines a layer", {"b": [8.0], "a": [4.0]}, seeds=[1])]
    (row,) = [row for row in part_table("grids", merged(runs)).rows if row[0] != "frozen sine"]
    assert row[4:7] == ["+1.50 ± 0.50", "+1.00 to +2.00", "2 of 2"]


def test_an_arm_is_compared_at_its_own_rate_if_that_was_searched_and_else_at_the_same():
    runs = [_run("omega0", "frozen sine", [1.0, 1.0], rate=2e-3), _run("omega0", "frozen sine", [2.0, 2.0], rate=4e-3)]
    runs += [_run("omega0", "trained Omega", [5.0, 6.0], rate=4e-3)]
    fits = merged(runs)
    (omega,) = of(fits, arm="trained Omega")
    assert list(gain_of(omega, fits).values()) == [3.0, 4.0]
    searched = merged([*runs[:2], _run("omega0", "frozen sine", [0.0, 0.0], rate=8e-3, search=MANY)])
    omega.search = dict(MANY)
    assert base_of(omega, searched).rate == 8e-3
    assert base_of(omega, fits) is None, "no frozen sine had the same search"


def test_factors_of_omega0_have_columns():
    values = {"frozen sine": [1.0, 2.0], "trained Omega": [2.0, 4.0]}
    runs = [_run("omega0", arm, own, size=64, factor=8.0, rate=4e-3, search=MANY) for arm, own in values.items()]
    runs += [_run("omega0", "trained Omega", [1.0, 1.0], size=64, factor=8.0, search=MANY, omega_rate=30.0)]
    found = page_tables(runs)["sines-omega0"]
    assert found.columns == ["network", "x8"]
    assert found.rows == [
        ["frozen sine", "1.50 dB"],
        ["trained Omega", "+1.50 ± 0.50 (2 of 2)"],
        ["trained Omega, Omega's rate x30", "-0.50 ± 0.50 (0 of 2)"],
    ]
    assert evidence_tables(runs)["sines-omega0-means"].rows[0] == ["frozen sine", "1.50 (0.004)"]
    (table,) = tables([_run("omega0 sound", "frozen sine", [5.0], factor=2.0)])
    assert table.rows == [["frozen sine", "5.00 dB"]], "a run of sound alone has its table"
    assert "(1 seed; " in table.title


def test_narrow_networks_are_first_runs():
    runs = [_run("grids", arm, [value], width=16) for arm, value in (("frozen sine", 1.0), ("5 sines a layer", 3.0))]
    found, evidence = page_tables(runs), evidence_tables(runs)
    assert not found["sines-grids"].rows
    assert [row[:2] for row in evidence["sines-first-runs"].rows] == [["grids, 128", "5 sines a layer"]]


def test_smaller_signals_have_a_table_of_their_own():
    runs = [_run("grids", "frozen sine", [1.0, 2.0], device="cuda")]
    runs += [_run("grids", "frozen sine", [3.0, 4.0], size=64, search=MANY)]
    runs += [_run("grids", "trained Omega", [4.0, 6.0], size=64, rate=8e-3, search=MANY)]
    assert [row[:3] for row in page_tables(runs)["sines-grids"].rows] == [["frozen sine", "0.002", "1.50"]]
    assert [row[:5] for row in evidence_tables(runs)["sines-small-grids"].rows] == [
        ["frozen sine", "0.002", "3.50", "3.00", ""],
        ["trained Omega", "0.008", "5.00", "4.00", "+1.50 ± 0.50"],
    ]


def test_pictures_with_a_searched_rate_show_the_search():
    runs = [_run("omega0", "frozen sine", [1.0, 2.0], size=96, search=MANY)]
    runs += [_run("omega0", "trained Omega", [4.0, 6.0], size=96, rate=4e-3, search={"0.004": 5.0, "0.008": 3.5})]
    runs += [_run("omega0", "5 sines a layer", [9.0, 9.0], size=96)]
    table = page_tables(runs)["sines-pictures-searched"]
    assert table.columns[:6] == ["network", "search, 0.002", "search, 0.004", "search, 0.008", "rate", "mean"]
    assert [row[:6] for row in table.rows] == [
        ["frozen sine", "1.00", "2.00", "", "0.002", "1.50"],
        ["trained Omega", "", "5.00", "3.50", "0.004", "5.00"],
    ], "a rate that was given was not searched"
    assert table.rows[1][7] == "+3.50 ± 0.50"
    assert not page_tables(runs)["sines-omega0"].rows, "other sizes are not those of unknown omega0"


def test_a_scene_shows_every_rate_and_compares_each_arm_at_the_best_of_the_search():
    levels = {("frozen sine", 1e-3): 3.0, ("frozen sine", 2e-3): 9.0, ("trained Omega", 2e-3): 4.0}
    searched = {("frozen sine", 1e-3): 8.0, ("frozen sine", 2e-3): 7.0, ("trained Omega", 2e-3): 6.0}
    runs = [
        _run("scenes", arm, [value, value + 1], rate=rate, search={f"{rate:g}": searched[arm, rate]})
        for (arm, rate), value in levels.items()
    ]
    runs += [_run("scenes", "frozen sine", [2.0], rate=4e-3, search={"0.004": 1.0})]
    fits = merged(runs)
    assert [(one.arm, one.rate) for one in own_rates(fits)] == [("frozen sine", 1e-3), ("trained Omega", 2e-3)]
    table = scene_table(fits)
    assert table.columns[:6] == ["network", "steps", "0.001", "0.002", "0.004", "rate by search"]
    assert table.rows[0][2:7] == ["3.50", "9.50", "2.00 (1 seeds)", "0.001", ""]
    assert table.rows[1][2:9] == ["", "4.50", "", "0.002", "+1.00 ± 0.00", "2 of 2", ""]
    assert table.columns[8] == "5 sines a layer over it"
    runs += [_run("scenes", "5 sines a layer", [5.5, 6.0], rate=1e-3, search={"0.001": 1.0})]
    assert [row[8] for row in scene_table(merged(runs)).rows] == ["+2.25 ± 0.25", "+1.25 ± 0.25", ""]


def test_more_steps_in_a_scene_are_rows_of_their_own_and_the_summary_has_the_fewest():
    levels = {("frozen sine", 100): 1.0, ("frozen sine, longer", 112): 2.0, ("frozen sine, longer", 125): 3.0}
    runs = [
        _run("scenes", arm, [value, value], size=50, rate=1e-3, search={"0.001": value})
        for (arm, _), value in levels.items()
    ]
    for run, (_, steps) in zip(runs, levels, strict=True):
        run.details["steps"] = steps
    assert [row[1] for row in scene_table(merged(runs)).rows] == ["100", "112", "125"]
    (row,) = page_tables(runs)["sines-summary"].rows
    assert row[6] == "**+1.00 ±0.00**"


def test_bytes_are_compared_where_they_are_equal_and_by_every_fit():
    def kept(size, refined):
        return {"quantised": {"4": {"bytes": size, "rounded": [0.0, 0.0], "refined": refined}}}

    runs = [_run("pictures", "frozen sine", [1.0, 1.0], size=64, width=65, **kept(7600, [2.0, 4.0]))]
    runs += [_run("pictures", "5 sines a layer", [1.0, 1.0], size=64, **kept(7700, [3.0, 6.0]))]
    runs += [_run("pictures", "5 sines a neuron", [1.0, 1.0], size=64, **kept(7900, [9.0, 9.0]))]
    runs += [_run("pictures", "5 sines a neuron", [1.0, 1.0], size=64, width=25, **kept(7601, [1.0, 3.0]))]
    table = page_tables(runs)["sines-bytes"]
    assert table.columns == ["network", "width", "4 bits (7.60 kB)", "by picture and bits"]
    assert table.rows[0] == ["frozen sine", "65", "3.00 dB", ""]
    assert table.rows[1][:3] == ["5 sines a layer", "64", "+1.50 ± 0.50 (2 of 2)"]
    assert table.rows[2][:3] == ["5 sines a neuron", "25", "-1.00 ± 0.00 (0 of 2)"], "4% more bytes are not equal"
    assert bytes_table(merged(runs), refined=False).rows[1][2] == "+0.00 ± 0.00 (0 of 2)"
    assert not bytes_table(merged(runs[1:]), refined=True).rows
    summary = page_tables(runs)["sines-summary"].rows[0]
    assert summary[0] == "weights of 4 bits, equal bytes"
    assert summary[3] == "+1.50 ±0.50", "two pairs are clear of nothing"
    first = _run("pictures", "frozen sine", {"a": [1.0, 1.0], "b": [1.0, 1.0]}, **kept(9, [2.0, 4.0]))
    assert merged([first])[0].rounded == {"4": {("a", 0): 0.0, ("b", 0): 0.0}}, "the first seed of each signal"


def test_one_number_of_bytes_is_spent_on_bits_or_on_width():
    def run(arm, width, four, eight, names="ab"):
        kept = {
            bits: {"bytes": size, "rounded": [0.0] * len(names), "refined": levels}
            for bits, (size, levels) in {"4": four, "8": eight}.items()
        }
        return _run("pictures", arm, {name: [1.0] for name in names}, size=64, width=width, quantised=kept)

    runs = [run("frozen sine", 65, (7600, [1.0, 2.0, 9.0]), (14000, [9.0, 9.0, 9.0]), "abc")]
    runs += [run("frozen sine", 47, (4000, [0.0, 0.0]), (7700, [5.0, 6.0]))]
    runs += [run("5 sines a layer", 64, (7600, [4.0, 5.0]), (14000, [9.0, 9.0]))]
    assert page_tables(runs)["sines-budget"].rows == [
        ["frozen sine", "1.50 dB (width 65)", "5.50 dB (width 47)", "", "", ""],
        ["5 sines a layer", "4.50 dB (width 64)", "", "-1.00 ± 0.00", "-1.00 to -1.00", "0 of 2"],
    ]
    (last,) = [row for row in page_tables(runs)["sines-summary"].rows if "7.6 kB" in row[0]]
    assert (last[1], last[3]) == ("none", "-1.00 ±0.00"), "one seed makes nothing clear, on however many signals"


def test_a_signal_that_every_fit_ends_at_the_same_value_of_says_nothing():
    runs = [_run("shapes", "frozen sine", {"a": [70.0, 70.0], "b": [1.0, 2.0]})]
    runs += [_run("shapes", "5 sines a layer", {"a": [70.0, 70.0], "b": [2.0, 2.0]})]
    assert [set(one.values) for one in told_apart(merged(runs))] == [{("b", 0), ("b", 1)}] * 2


@pytest.mark.parametrize(
    ("omega", "sines", "first"),
    [
        ([2, 3, 4.1], [3, 4, 5.3], "**5 a layer**"),
        ([2, 3, 4.1], [2, 3, 4.2], "5 a layer = Omega"),
        ([0, 4, 4], [1, 1, 1], "none"),
        ([0, 0, 0], [1, 1, 1], "none"),
    ],
)
def test_the_first_arm_is_clearly_ahead_of_the_others(omega, sines, first):
    levels = {"frozen sine": [1, 2, 3], "trained Omega": omega, "5 sines a layer": sines}
    assert first_of(merged([_run("grids", arm, values) for arm, values in levels.items()])) == first


def test_the_summary_says_how_many_fits_and_how_the_rate_was_found():
    values = {"frozen sine": [1.0, 2.0, 3.0], "trained Omega": [1.5, 2.6, 3.5], "5 sines a layer": [1.0, 3.0, 2.0]}
    values["5 sines a neuron"] = [0.0, 1.1, 2.0]
    runs = [_run("grids", arm, own, rate=2e-3, device="cuda") for arm, own in values.items()]
    (row,) = page_tables(runs)["sines-summary"].rows
    assert row[0] == "behind a hash grid, 128x128"
    assert row[2:5] == ["**+0.53 ±0.03**", "+0.00 ±0.58", "**-0.97 ±0.03**"], "bold is clear, above or below"
    assert row[-1] == "1 x 3, 0.002, GPU"


def test_questions_have_titles_of_their_own():
    titles = [line.title for line in LINES]
    assert len(set(titles)) == len(titles) > 20


def test_solved_equations_are_counted():
    fits = merged([_run("equations", "frozen sine", [19.0, 21.0, 50.0], rate=1e-3)])
    assert solved_table(fits).rows == [["frozen sine", "2 of 3"]]


def test_the_figure_has_a_line_for_each_question_and_a_mark_for_each_arm():
    values = {"frozen sine": [1.0, 2.0], "trained Omega": [1.5, 2.6], "5 sines a neuron": [1.0, 1.0]}
    fits = merged([_run(part, arm, own) for part in ("grids", "tones") for arm, own in values.items()])
    (axis,) = figure(questions_of(fits)).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "Gaps in harmonic tones, rate 0.002", "Behind a hash grid, rate 0.002",
    ][::-1]  # fmt: skip
    drawn = sorted(line.get_xdata()[0] for line in axis.lines if line.get_marker() in "Ds" and len(line.get_xdata()))
    assert drawn == pytest.approx([-0.5, -0.5, 0.55, 0.55])


def test_an_arm_without_a_frozen_sine_has_no_difference():
    assert gain({("a", 0): 1.0}, {("a", 1): 1.0}) == {}
    (row,) = part_table("grids", merged([_run("grids", "trained Omega", [1.0])])).rows
    assert row[4:7] == ["", "", ""]
    assert not page_tables([_run("grids", "trained Omega", [1.0])])["sines-summary"].rows
