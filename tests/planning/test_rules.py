from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import staf
from staf.nn import NETWORKS
from staf.planning import Budget, plan, plans
from staf.planning.rules import RULES, learning_rate
from staf.planning.situation import Choice, Situation

PHOTO = SimpleNamespace(in_features=2, out_features=3, shape=(64, 64))


def test_a_rule_can_be_replaced_removed_and_added_for_one_call():
    usual = plan(PHOTO, Budget(steps=5))
    changed = plan(
        PHOTO,
        Budget(steps=5),
        rules={
            "rate": lambda s: learning_rate(1e-5, "for a try"),
            "precision": None,
            "size": lambda s: Choice("a small network", arguments={"width": 8 * s.in_features}),
        },
    )
    assert changed.recipe == usual.recipe.replace(rate=1e-5, matrix_rate=1e-5, precision="bf16x3")
    assert list(changed.reasons) == [*usual.reasons, "size"]
    assert changed.reasons["rate"] == "learning rates of 1e-05, for a try"
    assert changed.field(0).architecture["arguments"]["width"] == 16


def test_a_signal_and_then_its_task_change_the_table():
    said = []

    def rule(name):
        def choose(s):
            said.append(name)
            return Choice(name)

        return choose

    signal = SimpleNamespace(
        in_features=1, out_features=1, points=9, plan_rules=lambda: {"first_frequency": rule("signal")}
    )
    assert plan(signal).reasons["first_frequency"] == "signal"
    task = SimpleNamespace(in_features=1, out_features=1, points=9, signal=signal)
    assert plan(task).reasons["first_frequency"] == "signal"
    task.plan_rules = lambda: {"first_frequency": rule("task"), "colour": rule("red")}
    assert plan(task).reasons["first_frequency"] == "task"
    assert said == ["signal", "signal", "task", "red"]


def test_rules_are_made_once_in_any_order_and_circles_are_named():
    calls = []

    def batch(s):
        calls.append("batch")
        return Choice(recipe={"batch": None})

    table = {"first": lambda s: s["batch"], "second": lambda s: s["batch"], "batch": batch}
    situation = Situation(PHOTO, Budget(), "cpu", NETWORKS["siren"], table)
    assert situation["second"] is situation["first"] is situation["batch"]
    assert calls == ["batch"]
    circle = {"a": lambda s: s["b"], "b": lambda s: s["a"]}
    with pytest.raises(RuntimeError, match="circle at the topic 'a'"):
        Situation(PHOTO, Budget(), "cpu", NETWORKS["siren"], circle)["a"]


def test_the_reasons_come_in_the_order_of_the_table_and_are_printed():
    chosen = plan(staf.Image(np.zeros((8, 8, 3), np.uint8)), Budget(steps=5, target_db=30.0), device="cuda")
    order = list(RULES)
    assert list(chosen.reasons) == sorted(chosen.reasons, key=order.index)
    lines = str(chosen).splitlines()
    assert lines[0] == "plan 'default'"
    assert "  first frequency   omega0 0.5 in the first layer, from the spectrum: it does not vary" in lines
    assert len(lines) == 1 + len(chosen.reasons)
    assert "plan 'paper_staf_image'" in str(plans.paper_staf_image(PHOTO))


def test_volumes_are_seen_in_parts_on_a_gpu_too():
    volume = SimpleNamespace(in_features=3, out_features=1, points=10**6)
    assert plan(volume, device="cuda").recipe.batch == 2**18
    assert plan(volume, device="cpu").recipe.batch == 2**13


def test_a_task_that_is_fitted_has_the_plan_of_its_restoration():
    from staf.planning.restoration import super_resolution
    from staf.tasks import SuperResolution

    task = SuperResolution(staf.Image(np.arange(64, dtype=np.uint8).reshape(8, 8)), 2)
    chosen, expected = plan(task, model="finer"), super_resolution(task, model="finer")
    assert (chosen.recipe, chosen.reasons) == (expected.recipe, expected.reasons)
    assert "stays smooth" in chosen.reasons["first_frequency"]
