"""The tables of the page keep apart what was searched, what is smaller and what has other rates."""

from __future__ import annotations

from pathlib import Path

from paper.runner.result import RunResult
from paper.sines.tables import page_tables, tables


def _run(part, arm, values, *, size=128, rate=2e-3, factor=1.0, search=None, omega_rate=None, quantised=None):
    configuration = {"part": part, "arm": arm, "size": size, "factor": factor, "omega_rate": omega_rate, "steps": 5}
    details = {"values": {"a": values}, "rate": rate, "search": search or {}, "parameters": 9, "width": 64, "steps": 5}
    details |= {"step_ms": 1.0} | ({"quantised": quantised} if quantised else {})
    return RunResult(Path("x"), {"configuration": configuration, "details": details, "metrics": {}})


def test_searched_factors_of_omega0_have_tables_of_their_own():
    search = {"0.002": 1.0, "0.004": 2.0}
    runs = [_run("pictures", "frozen sine", [30.0]), _run("omega0", "frozen sine", [20.0], factor=8.0)]
    runs += [
        _run("omega0", arm, values, size=64, factor=8.0, rate=4e-3, search=search, omega_rate=omega_rate)
        for arm, omega_rate, values in (
            ("frozen sine", None, [1.0, 2.0]),
            ("trained Omega", None, [2.0, 4.0]),
            ("trained Omega", 30.0, [1.0, 1.0]),
        )
    ]
    found = page_tables(runs)
    assert found["sines-omega0"].rows == [["frozen sine", "30.00", "20.00", "20.00"]]
    assert found["sines-omega0-searched"].rows == [
        ["frozen sine", "1.50 (0.004)"],
        ["trained Omega", "3.00 (0.004)"],
        ["trained Omega, Omega's rate x30", "1.00 (0.004)"],
    ]
    assert found["sines-omega0-differences"].rows == [
        ["trained Omega", "+1.50 ± 0.50 (2 of 2)"],
        ["trained Omega, Omega's rate x30", "-0.50 ± 0.50 (0 of 2)"],
    ]
    assert not found["sines-omega0-sound-searched"].rows
    sound = _run("omega0 sound", "frozen sine", [5.0], factor=2.0)
    (table,) = tables([sound])
    assert table.rows == [["frozen sine", "5.00 (0.002)"]], "a run of sound alone has its table"


def test_smaller_signals_have_a_table_of_their_own():
    runs = [_run("grids", "frozen sine", [1.0, 2.0]), _run("grids", "frozen sine", [3.0, 4.0], size=64)]
    runs += [_run("grids", "trained Omega", [4.0, 6.0], size=64, rate=8e-3)]
    found = page_tables(runs)
    assert [row[:2] for row in found["sines-grids"].rows] == [["frozen sine", "1.50"]]
    assert [row[:5] for row in found["sines-small"].rows] == [
        ["Behind a hash grid", "frozen sine", "3.50", "3.00", ""],
        ["Behind a hash grid", "trained Omega", "5.00", "4.00", "+1.50 ± 0.50"],
    ]


def test_bytes_come_from_every_fit_of_a_smaller_run():
    rounded = {"4": {"bytes": 7600, "rounded": [1.0, 1.0], "refined": [2.0, 4.0]}}
    runs = [_run("pictures", "frozen sine", [1.0]), _run("pictures", "frozen sine", [1.0], size=64, quantised=rounded)]
    found = page_tables(runs)
    assert found["sines-bytes"].rows == [["frozen sine", "64", "3.00 ± 1.00 (7.60 kB)"]]
    assert not found["sines-small"].rows
    assert not found["sines-quantised"].rows
