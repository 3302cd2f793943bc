from __future__ import annotations

from types import SimpleNamespace

import pytest

from paper.protocols.published import MODELS, paper_plan
from paper.study.image_study import at_rate
from paper.study.rows import Length, Row, plan_for


def signal(*shape):
    return SimpleNamespace(in_features=2, out_features=3, shape=shape, kind="image", name="made")


def rate(model, task, *shape):
    return paper_plan(signal(*shape), model, task).recipe.rate


def test_wire_is_slower_on_images_of_more_than_65536_pixels():
    assert rate("wire", "image", 256, 256) == rate("wire", "image", 64, 64) == 5e-3
    assert rate("wire", "image", 512, 512) == rate("wire", "denoising", 512, 512) == 5e-3 / 4
    assert rate("wire", "image", 339, 510) == pytest.approx(5e-3 * 65536 / 172890)
    assert rate("wire", "super_resolution", 512, 512) == 1e-2, "whose script does not divide"


@pytest.mark.parametrize("model", [name for name in MODELS if name != "wire"])
def test_no_other_network_is(model):
    assert rate(model, "image", 512, 512) == rate(model, "image", 64, 64)


def test_a_row_at_another_rate_says_so():
    row = at_rate(Row("finer", "finer"), 2.5e-3)
    assert row.name == "finer at 2.5e-3"
    assert plan_for(signal(8, 8), row, "released", Length(5), "cpu").recipe.rate == 2.5e-3
    assert plan_for(signal(8, 8), Row("finer", "finer"), "released", Length(5), "cpu").recipe.rate == 1e-4
    with pytest.raises(ValueError, match="--rate must be positive and finite, got 0"):
        at_rate(Row("finer", "finer"), 0)


def test_a_rate_can_fall_as_stafs_does():
    released = plan_for(signal(8, 8), Row("staf", "staf"), "released", Length(5), "cpu").recipe
    row = at_rate(Row("siren", "siren"), 1e-3, 5e-5)
    assert row.name == "siren at 1e-3 to 5e-5"
    recipe = plan_for(signal(8, 8), row, "released", Length(5), "cpu").recipe
    assert (recipe.rate, recipe.schedule) == (released.rate, released.schedule)
    assert plan_for(signal(8, 8), Row("siren", "siren"), "released", Length(5), "cpu").recipe.schedule(1.0) == 1.0
    for wrong in (0.0, 2e-3):
        with pytest.raises(ValueError, match=f"--falls-to must be positive and at most --rate, 0.001, got {wrong}"):
            at_rate(Row("siren", "siren"), 1e-3, wrong)
