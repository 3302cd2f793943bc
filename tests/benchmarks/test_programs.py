"""The programs of the full suites do the work they are timed for."""

from __future__ import annotations

import pytest

from benchmarks import programs
from staf.benchmarking import programs as short_programs
from staf.benchmarking.cases import OURS, RELEASED, Case
from tests.benchmarking.tiny import tiny


@pytest.mark.parametrize("version", [RELEASED, OURS], ids=lambda version: version.name)
def test_a_render_evaluates_its_points(version, monkeypatch):
    points: list[int] = []

    def spied(module):
        module.register_forward_pre_hook(lambda module, arguments: points.append(arguments[0].shape[-2]))
        return module

    real_field, real_released = Case.field, short_programs.ReleasedNetwork
    monkeypatch.setattr(Case, "field", lambda self, *a, **o: spied(real_field(self, *a, **o)))
    monkeypatch.setattr(short_programs, "ReleasedNetwork", lambda field: spied(real_released(field)))
    program = programs.build(tiny("render"), version, "cpu")
    points.clear()
    program.run()
    assert sum(points) == 16
    assert program.wall


@pytest.mark.parametrize(("version", "units"), [(RELEASED, 1), (OURS, 2)])
def test_many_counts_images(version, units):
    program = programs.build(tiny("many"), version, "cpu")
    assert program.units == units
    program.run()


def test_other_kinds_are_those_of_the_short_suite(monkeypatch):
    monkeypatch.setattr(short_programs, "build", lambda *arguments: arguments)
    assert programs.build(tiny("latency"), OURS, "cpu") == (tiny("latency"), OURS, "cpu")
