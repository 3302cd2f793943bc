from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from staf.nn import NETWORKS
from staf.nn.networks import Settings
from staf.planning import Budget, plan, recipes
from staf.planning.restoration import denoising, super_resolution, with_settings


def task(side: int = 64, samples: int = 1) -> SimpleNamespace:
    seen = SimpleNamespace(shape=(side // 2, side))
    return SimpleNamespace(in_features=2, out_features=3, points=side * side // 2, samples=samples, observed=seen)


@pytest.mark.parametrize("make", [super_resolution, denoising])
@pytest.mark.parametrize("model", sorted(NETWORKS))
def test_every_network_can_be_planned(make, model):
    field = make(task(), Budget(steps=1), model=model).field(0)
    if not hasattr(field, "bind"):
        assert field(torch.zeros(2, 2)).shape == (2, 3)


def test_the_first_frequencies_follow_the_observed_pixels():
    first = [super_resolution(task(side)).field(0).architecture["arguments"]["omega0"] for side in (64, 128)]
    assert first[1] == pytest.approx(2 * first[0])


def test_through_the_operator_a_step_costs_the_same():
    one, four = (super_resolution(task(512, samples), device="cpu").recipe.batch for samples in (1, 4))
    assert one == 16 * four


def test_the_default_plans_are_smoother_than_a_reconstruction():
    x = torch.rand(500, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1

    def roughness(chosen) -> float:
        field = chosen.field(0)
        with torch.no_grad():
            return float((field(x + 0.01) - field(x)).square().mean() / field(x).var())

    usual = roughness(plan(task()))
    assert roughness(super_resolution(task())) < 0.7 * usual
    assert roughness(denoising(task())) < usual / 2


def test_the_reasons_are_of_this_plan_and_not_of_the_one_it_came_from():
    picture = task(256, samples=4)
    picture.signal = picture.observed
    chosen = super_resolution(picture)
    words = " ".join(chosen.reasons.values())
    assert f"steps of {chosen.recipe.batch:,} of" in words
    assert words.count("steps of ") == 1
    assert words.count("omega0 38.4") == 1
    assert "a pixel of the longest side" not in words
    assert "1 weaker" in " ".join(denoising(picture).reasons.values())
    assert "four weaker" not in " ".join(denoising(picture).reasons.values())


def test_a_restoration_stops_before_it_follows_all_it_sees():
    for make in (super_resolution, denoising):
        chosen = make(task())
        assert chosen.recipe.steps == 300
        assert any(reason.startswith("no budget was given: 300 steps") for reason in chosen.reasons.values())
        assert not any("as asked" in reason for reason in chosen.reasons.values())
        assert make(task(), Budget(steps=7)).recipe.steps == 7
        assert make(task(), Budget(seconds=2.0)).recipe.steps is None


@pytest.mark.parametrize(("make", "side", "steps"), [(super_resolution, 256, 2400), (denoising, 512, 600)])
def test_mini_batches_of_a_larger_picture_take_more_steps_up_to_a_limit(make, side, steps):
    larger, huge = make(task(side, samples=2)), make(task(4096, samples=2))
    assert larger.recipe.steps == steps
    assert any(f"{steps:,} steps, which see each pixel" in reason for reason in larger.reasons.values())
    assert huge.recipe.steps == 4800
    assert any("gains from more, up to" in reason for reason in huge.reasons.values())
    for chosen in (larger, huge):
        assert sum(reason.startswith("no budget was given") for reason in chosen.reasons.values()) == 1
    assert make(task(4096), Budget(steps=7)).recipe.steps == 7
    assert make(task(512), device="cuda").recipe.steps == 300


@pytest.mark.parametrize("model", sorted(NETWORKS))
def test_full_batches_are_trained_as_the_tables_say(model):
    for make, name in ((super_resolution, "super_resolution"), (denoising, "denoising")):
        settings = NETWORKS[model].restoration[name]
        chosen = make(task(), Budget(steps=5), device="cuda", model=model)
        assert (chosen.recipe.optimiser, chosen.recipe.schedule) == ("muon", recipes.default().schedule)
        assert chosen.recipe.rate == chosen.recipe.matrix_rate == settings.rate
        wanted = settings.arguments(task().observed.shape)
        built = chosen.field(0).architecture["arguments"]
        assert {name: built[name] for name in wanted} == wanted
        assert sum("rates of " in reason for reason in chosen.reasons.values()) == 1
        assert ("Adam alone" in " ".join(chosen.reasons.values())) == (model == "wire")
        assert "SOAP" not in " ".join(chosen.reasons.values())


@pytest.mark.parametrize("make", [super_resolution, denoising])
def test_nothing_of_soap_is_left_where_a_reconstruction_would_have_it(make):
    large = task(512)
    assert plan(large, Budget(steps=300), device="cuda").recipe.optimiser == "soap"
    recipe, ours = make(large, device="cuda").recipe, recipes.default()
    for name in ("optimiser", "schedule", "amplitude_rate", "frequency_rate", "phase_rate"):
        assert getattr(recipe, name) == getattr(ours, name), name
    said = [reason for reason in make(large, device="cuda").reasons.values() if reason.startswith("C, Omega and Phi")]
    assert said == ["C, Omega and Phi learn 3 times as fast as the other weights"]


def test_mini_batches_keep_the_rates_of_any_mini_batch():
    small = denoising(task(256), Budget(steps=5), device="cpu").recipe
    assert small.batch is not None
    assert small.rate == NETWORKS["staf"].rates.full_batch / 2


def test_full_batches_and_mini_batches_of_a_noisy_image_have_constants_of_their_own():
    first = [denoising(task(256), device=d).field(0).architecture["arguments"]["omega0"] for d in ("cpu", "cuda")]
    assert first == [10.0, NETWORKS["staf"].restoration["denoising"].constants["omega0"]]


@pytest.mark.parametrize("make", [super_resolution, denoising])
@pytest.mark.parametrize(("model", "constants"), [("gauss", {"sigma": 3.0}), ("staf", {"omega0": 4.0, "terms": 3})])
def test_settings_can_be_changed_for_any_network_and_are_told(make, model, constants):
    chosen = make(task(), model=model)
    for rate, words in (
        (NETWORKS[model].rates.full_batch / 4, "times 0.25, so that what is seen"),
        (2 * NETWORKS[model].rates.full_batch, "times 2, so that"),
    ):
        # Twice, because nothing of the first change may be left.
        chosen = with_settings(chosen, task(), model, Settings(rate, constants=constants))
        assert chosen.recipe.rate == chosen.recipe.matrix_rate == rate
        assert constants.items() <= chosen.field(0).architecture["arguments"].items()
        said = ", ".join(f"{name} {value:g}" for name, value in constants.items())
        assert [reason for reason in chosen.reasons.values() if "stays smooth" in reason] == [
            f"{said}, so that the field stays smooth between what is seen"
        ]
        assert [words in reason for reason in chosen.reasons.values() if "rates of " in reason] == [True]
