"""A full suite: the cases and versions chosen, the machine's rates, and the floor of every record."""

from __future__ import annotations

import pytest

from benchmarks import runner
from benchmarks.rates import Rates, measure_rates
from benchmarks.runner import run_suite
from staf.benchmarking.cases import COMPILED, OURS
from staf.benchmarking.programs import Program
from tests.benchmarking.tiny import QUICK, RELEASED, tiny


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(runner, "measure_rates", lambda device: Rates({"fp32": 1e9}, 1e9))
    monkeypatch.setattr("staf.benchmarking.gate.POINTS", 11)
    monkeypatch.setattr("staf.benchmarking.gate.WIDTH", 8)


def run(cases, **options):
    return run_suite("short", device="cpu", seed=3, cases=cases, effort=QUICK, **options)


def test_every_record_has_its_floor():
    said = []
    document = run([tiny(), tiny("inference", "siren")], say=said.append)
    assert document["rates"] == {"matmul_flops": {"fp32": 1e9}, "copy_bytes": 1e9, "sines": None}
    assert said[0].startswith("gate: ")
    assert said[1].startswith("rates: fp32 0.001 TFLOP/s")
    assert len(document["records"]) == 4
    for record in document["records"]:
        assert record["floor_fraction"] == pytest.approx(record["floor_ms"] / record["ms"])
        assert record["tflop_s"] > 0


def test_a_red_gate_comes_before_any_rate(monkeypatch):
    from staf import ops
    from staf.benchmarking import GateError

    monkeypatch.setattr(ops, "sine_series", lambda x, c, w, p: x)
    monkeypatch.setattr(runner, "measure_rates", lambda device: pytest.fail("timed"))
    with pytest.raises(GateError):
        run([tiny()])


def test_time_is_per_unit_and_an_image_is_many_steps(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("staf.benchmarking.timing.time.perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(runner, "build", lambda *a: Program(lambda: None, units=4))
    many, train = run([tiny("many"), tiny("train", points=17)])["records"][::2]
    assert many["ms"] == train["ms"] == 250
    assert many["images_per_s"] == 4
    assert many["tflop_s"] == pytest.approx(2 * train["tflop_s"] * 16 / 17)


def test_compiled_versions_can_be_left_out(monkeypatch):
    monkeypatch.setattr(runner, "build", lambda *a: Program(lambda: None))
    case = tiny(versions=(RELEASED, COMPILED, OURS))
    assert [r["version"] for r in run([case], compiled=False)["records"]] == ["released", "staf fp32"]
    assert [r["version"] for r in run([case], versions=["staf*"])["records"]] == ["staf fp32"]
    assert len(run([case])["records"]) == 3


def test_only_chooses_cases_and_nothing_is_an_error():
    assert {r["kind"] for r in run([tiny(), tiny("latency")], only=["nothing", "latency*"])["records"]} == {"latency"}
    with pytest.raises(ValueError, match="only must match a case"):
        run([tiny()], only=["nothing"])


def test_rates_are_measured(monkeypatch):
    rates = measure_rates("cpu", side=32, copied=1000)
    assert rates.matmul["fp32"] > 1e6
    assert rates.copy > 1e6
    assert rates.sines > 1e6
