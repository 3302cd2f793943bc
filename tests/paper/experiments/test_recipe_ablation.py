from __future__ import annotations

import numpy as np
import pytest

from paper.__main__ import main
from paper.experiments.recipe_ablation import GROUPS, changes, table
from paper.protocols.plan_variants import PlanVariant, plan_of
from paper.runner import load_results
from paper.searches.recipe_space import known_optimisers
from staf.kinds import Image
from tests.paper.stack import QUIET, stack

IMAGE = Image(np.random.default_rng(0).integers(0, 256, (12, 12, 3), np.uint8))


def all_changes():
    base = plan_of(IMAGE, PlanVariant("staf"), 10, "cpu")
    return base, changes(base.recipe, base.field(0), points=144, steps=10)


def test_each_change_can_be_planned_and_is_one():
    base, groups = all_changes()
    assert tuple(groups) == GROUPS
    same, network = base.recipe.to_plain(), base.field(0).architecture["arguments"]
    for entries in groups.values():
        assert entries
        for words, variant in entries.items():
            plan = plan_of(IMAGE, variant, 10, "cpu")
            recipe, arguments = plan.recipe.to_plain(), plan.field(0).architecture["arguments"]
            differ = {k for k in same if same[k] != recipe[k]} | {k for k in network if network[k] != arguments[k]}
            assert differ, words
            assert differ == set(variant.recipe) | set(variant.arguments), words


def test_every_other_optimiser_and_number_of_terms_is_tried():
    base, groups = all_changes()
    tried = {variant.recipe["optimiser"] for variant in groups["optimiser"].values()}
    assert tried == set(known_optimisers()) - {base.recipe.optimiser}
    assert base.field(0).architecture["arguments"]["terms"] not in [
        variant.arguments["terms"] for variant in groups["terms"].values()
    ]


def test_the_table_sets_each_change_against_the_default(tmp_path, capsys):
    words = ["recipe-ablation", "--images", stack(tmp_path), "--groups", "schedule", "--steps", "2"]
    assert main([*words, *QUIET, "--folder", str(tmp_path / "r")]) == 0
    results = load_results(tmp_path / "r", "recipe-ablation")
    drawn = table(results)
    assert drawn.rows[0][1] == "default"
    assert {row[0] for row in drawn.rows} == {"", "schedule"}
    psnr = {(result.configuration["change"], result.data_name): result.metrics["psnr"] for result in results}
    row = next(row for row in drawn.rows if row[1] == "constant rates")
    gains = [psnr["constant rates", name] - psnr["default", name] for name in ("one", "two")]
    assert float(row[3]) == pytest.approx(sum(gains) / 2, abs=0.006)
    assert float(row[4]) == pytest.approx(min(gains), abs=0.006)
    assert "constant rates" in (tmp_path / "r" / "recipe-ablation.md").read_text()
