from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image
from staf.nn import NETWORKS
from staf.planning import plans
from staf.planning.plans import Budget, plan, points_of
from staf.planning.situation import Choice
from staf.tasks import Reconstruction
from staf.training.optim.optimiser import Optimiser

PHOTO = SimpleNamespace(in_features=2, out_features=3, shape=(256, 256))


def test_a_gpu_sees_every_point_and_a_cpu_mini_batches():
    on_gpu, on_cpu = plan(PHOTO, Budget(steps=100), device="cuda"), plan(PHOTO, Budget(steps=100), device="cpu")
    assert (on_gpu.recipe.batch, on_cpu.recipe.batch) == (None, 8192)
    assert "all 65,536 points" in " ".join(on_gpu.reasons.values())
    assert "8,192 of the 65,536" in " ".join(on_cpu.reasons.values())
    assert plan(SimpleNamespace(in_features=2, out_features=1, shape=(8, 8))).recipe.batch is None


def test_the_default_is_the_measured_recipe():
    recipe = plan(PHOTO, device="cuda").recipe
    assert (recipe.steps, recipe.optimiser, recipe.rate, recipe.matrix_rate) == (1000, "soap", 3e-3, 3e-3)
    assert (recipe.amplitude_rate, recipe.frequency_rate, recipe.phase_rate) == (0.1, 3.0, 0.1)
    field = plan(PHOTO).field(seed=0)
    first = field.activations[0]
    omega0 = field.architecture["arguments"]["omega0"]
    torch.testing.assert_close(first.frequency.detach(), omega0 * torch.tensor([1.0, 0.2, 7 / 15, 11 / 15, 1.0]))
    assert first.amplitude[0] == 1
    assert first.phase[0] == 0
    assert sum(p.numel() for p in field.parameters()) == 198_975


def omega0_of(chosen) -> float:
    return chosen.field(0).architecture["arguments"]["omega0"]


@pytest.mark.parametrize("model", ["staf", "siren", "finer", "incode"])
def test_pictures_of_one_size_and_other_detail_get_other_omega0(model):
    rng = np.random.default_rng(0)
    fine = rng.uniform(0, 1, (64, 64, 3)).astype(np.float32)
    coarse = np.kron(rng.uniform(0, 1, (4, 4, 3)), np.ones((16, 16, 1))).astype(np.float32)
    sharp, soft = (plan(Image(pixels), model=model) for pixels in (fine, coarse))
    assert omega0_of(sharp) > 1.3 * omega0_of(soft)
    assert any(
        "from the spectrum: detail as fine as noise, a mean wave of 2." in reason for reason in sharp.reasons.values()
    )
    # A task is planned as its signal is.
    assert omega0_of(plan(Reconstruction(Image(fine)), model=model)) == omega0_of(sharp)


def test_a_denoised_picture_is_planned_by_what_is_seen_of_it():
    rng = np.random.default_rng(0)
    clean = Image(np.full((32, 32, 3), 0.5, np.float32))
    seen = Image(rng.uniform(0, 1, (32, 32, 3)).astype(np.float32))
    task = SimpleNamespace(in_features=2, out_features=3, points=1024, signal=clean, observed=seen)
    assert omega0_of(plan(task)) == omega0_of(plan(seen)) != omega0_of(plan(clean))


@pytest.mark.parametrize("side", [64, 128, 181])
@pytest.mark.parametrize("model", ["staf", "siren", "finer"])
def test_few_pixels_are_learnt_slower_where_steps_are_many(model, side):
    def planned(**budget):
        photo = SimpleNamespace(in_features=2, out_features=3, shape=(side, side))
        return plan(photo, Budget(**budget), device="cuda", model=model)

    chosen = planned(steps=150)
    assert chosen.recipe.rate == chosen.recipe.matrix_rate == 5e-4
    assert (
        "learning rates of 0.0005, small, so that few pixels do not become noise between them"
        in chosen.reasons.values()
    )
    rates = NETWORKS[model].rates
    usual = 1e-3 if side == 64 else rates.full_batch
    assert planned(steps=149).recipe.rate == planned(seconds=0.1).recipe.rate == usual > chosen.recipe.rate
    assert planned(seconds=10.0).recipe.rate == chosen.recipe.rate, "seconds that hold many steps on any GPU"


def test_pictures_that_soap_sees_have_its_rate():
    photo = SimpleNamespace(in_features=2, out_features=3, shape=(182, 182))
    assert plan(photo, Budget(steps=500), device="cuda").recipe.rate == NETWORKS["staf"].rates.soap


@pytest.mark.parametrize("model", ["staf", "siren", "finer"])
def test_narrow_networks_are_learnt_faster(model):
    def planned(width, side=64, device="cpu"):
        photo = SimpleNamespace(in_features=2, out_features=3, shape=(side, side))
        asked = {"asked": lambda s: Choice("as asked", arguments={"width": width})}
        return plan(photo, Budget(steps=500), device=device, model=model, rules=asked)

    rates = [planned(width).recipe.rate for width in (8, 16, 32, 64, 128, 256)]
    assert rates == sorted(rates, reverse=True)
    assert rates[:2] == [4e-3, 4e-3]
    assert rates[3] == pytest.approx(2e-3, rel=0.03), "0.128 / width"
    assert rates[4] == rates[5] == 5e-4
    chosen = planned(64)
    assert chosen.recipe.matrix_rate == chosen.recipe.rate
    assert "parameters are a narrow network" in chosen.reasons["rate"]
    assert planned(64, 256, "cuda").recipe.rate == NETWORKS[model].rates.soap, "found for pictures that Muon sees whole"


def test_budgets_are_kept_and_explained():
    chosen = plan(PHOTO, Budget(seconds=5.0, target_db=30.0))
    assert (chosen.recipe.steps, chosen.recipe.seconds, chosen.recipe.target_db) == (None, 5.0, 30.0)
    words = " ".join(chosen.reasons.values())
    assert "5 seconds" in words
    assert "30 dB" in words
    assert "no budget was given: 600 steps, the default on this device" in plan(PHOTO).reasons.values()
    assert "no budget was given: 1,000 steps, the default on this device" in plan(PHOTO, device="cuda").reasons.values()
    assert "at most 600 steps, the default on this device" in plan(PHOTO, Budget(target_db=40)).reasons.values()
    assert "1 step, as asked" in plan(PHOTO, Budget(steps=1)).reasons.values()
    both = plan(PHOTO, Budget(steps=2000, seconds=1)).reasons.values()
    assert "2,000 steps or 1 second of training, whichever comes first" in both


def test_the_same_seed_builds_the_same_field():
    a, b, c = (plan(PHOTO).field(seed) for seed in (0, 0, 1))
    assert torch.equal(a.output.weight, b.output.weight)
    assert not torch.equal(a.output.weight, c.output.weight)


@pytest.mark.parametrize("model", NETWORKS)
def test_every_model_can_be_planned(model):
    assert plan(PHOTO, model=model).field(0).architecture["name"] == model


@pytest.mark.parametrize("model", NETWORKS)
def test_the_reasons_are_true_of_what_is_built(model):
    chosen = plan(PHOTO, Budget(steps=1), model=model)
    words, field = " ".join(chosen.reasons.values()), chosen.field(0)
    optimisers = [type(part).__name__ for part in Optimiser(field, chosen.recipe).optimisers]
    assert ("Muon on the hidden matrices" in words) == ("Muon" in optimisers)
    width = re.search(r"[24] activated layers of (\d+)", words)[1]
    assert int(width) in {size for parameter in field.parameters() for size in parameter.shape}


def test_an_unknown_model_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'siren'"):
        plan(PHOTO, model="sirne")


def test_points_come_from_a_task_or_a_shape():
    assert points_of(SimpleNamespace(points=7)) == 7
    assert points_of(PHOTO) == 65536


@pytest.mark.parametrize(
    ("make", "omega0", "terms", "skip", "rate"),
    [
        (plans.paper_staf_image, (30, 30), 5, False, 1e-3),
        (plans.released_staf_image, (60, 30), 5, True, 1e-3),
        (plans.paper_staf_audio, (3000, 30), 5, False, 2.5e-4),
        (plans.released_staf_audio, (3000, 30), 5, False, 2.5e-4),
        (plans.paper_staf_shape, (30, 30), 5, False, 2.5e-4),
        (plans.paper_staf_super_resolution, (30, 30), 5, False, 1e-3),
        (plans.paper_staf_denoising, (5, 5), 2, False, 1.5e-4),
        (plans.released_staf_shape, (30, 30), 5, False, 2.5e-4),
        (plans.released_staf_super_resolution, (30, 30), 5, False, 1e-3),
        (plans.released_staf_denoising, (5, 5), 2, False, 2.5e-4),
    ],
)
def test_the_papers_plans_carry_the_published_constants(make, omega0, terms, skip, rate):
    chosen = make(PHOTO)
    field = chosen.field(0)
    arguments = field.architecture["arguments"]
    assert (arguments["omega0"], arguments["hidden_omega0"]) == omega0
    assert (arguments["terms"], arguments["skip"], arguments["weights"]) == (terms, skip, "torch")
    assert arguments["law"] == ("released" if "released" in chosen.name else "theorem")
    assert chosen.recipe.rate == rate
    assert chosen.recipe.convention == "ends"
    assert chosen.recipe.optimiser == "adam"
    # Frequencies are omega0 U(0, 1), weights torch's default U(+-1/sqrt(n)).
    assert 0 <= field.activations[1].frequency.min() <= field.activations[1].frequency.max() <= omega0[1]
    assert field.layers[1].weight.abs().max() <= 1 / math.sqrt(256)


def test_a_network_of_ones_own_is_not_trained_by_constants_found_for_others():
    small = staf.Image(np.zeros((8, 8), np.uint8))
    module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    own = staf.fit(small, module, steps=200, target_db=1.0, progress=False)
    assert own.recipe.rate == NETWORKS["staf"].rates.full_batch > plan(small, Budget(steps=200)).recipe.rate
    assert own.recipe.optimiser == "muon"


@pytest.mark.parametrize(
    ("shape", "budget", "device", "optimiser"),
    [
        ((256, 256), Budget(steps=300), "cuda", "soap"),
        ((256, 256), Budget(target_db=60.0), "cuda", "soap"),
        ((256, 256), Budget(steps=299), "cuda", "muon"),
        ((256, 256), Budget(seconds=10.0), "cuda", "soap"),
        ((256, 256), Budget(seconds=6.0), "cuda", "muon"),
        ((256, 256), Budget(seconds=600.0), "cpu", "muon"),
        ((512, 512), Budget(seconds=10.0), "cuda", "muon"),
        ((128, 128), Budget(steps=1000), "cuda", "muon"),
        ((256, 256), Budget(steps=1000), "cpu", "muon"),
    ],
)
def test_soap_trains_large_pictures_that_every_step_sees(shape, budget, device, optimiser):
    chosen = plan(SimpleNamespace(in_features=2, out_features=3, shape=shape), budget, device=device)
    assert chosen.recipe.optimiser == optimiser
    assert (chosen.recipe.schedule.warm > 0) == (optimiser == "soap")


@pytest.mark.parametrize(
    ("side", "steps", "device", "momentum"),
    [(128, 100, "cuda", 0.8), (128, 101, "cuda", 0.95), (90, 50, "cuda", 0.95), (128, 50, "cpu", 0.95)],
)
def test_few_steps_that_see_a_picture_whole_have_less_momentum(side, steps, device, momentum):
    picture = SimpleNamespace(in_features=2, out_features=3, shape=(side, side))
    chosen = plan(picture, Budget(steps=steps), device=device)
    assert chosen.recipe.momentum == momentum
    assert ("less momentum" in chosen.reasons["optimiser"]) == (momentum < 0.95)


@pytest.mark.parametrize("model", ["staf", "siren", "finer"])
def test_few_steps_on_large_pictures_have_a_rate_of_their_own(model):
    picture = SimpleNamespace(in_features=2, out_features=3, shape=(256, 256))
    short, long = (plan(picture, Budget(steps=steps), device="cuda", model=model) for steps in (299, 300))
    assert short.recipe.rate == short.recipe.matrix_rate == NETWORKS[model].rates.short
    assert long.recipe.rate == NETWORKS[model].rates.soap
    assert any("for few steps" in reason for reason in short.reasons.values())
    assert not any("for few steps" in reason for reason in long.reasons.values())


def test_wires_constants_keep_its_values_bounded_and_it_learns_by_its_plan():
    rng = np.random.default_rng(0)
    picture = staf.Image(np.kron(rng.integers(0, 256, (6, 6, 3)), np.ones((4, 4, 1))).astype(np.uint8))
    chosen = plan(picture, Budget(steps=60), model="wire")
    constants = chosen.field(0).architecture["arguments"]
    assert constants["omega0"] <= constants["sigma0"]
    assert any(reason.startswith("omega0 and sigma0 15") for reason in chosen.reasons.values())
    own, published = (
        staf.fit(picture, field, chosen.recipe, seed=0, progress=False).metrics["psnr"]
        for field in (
            staf.wire(
                2,
                3,
                width=64,
                generator=torch.Generator().manual_seed(0),
                **NETWORKS["wire"].constants["every"].arguments,
            ),
            staf.wire(2, 3, width=64, generator=torch.Generator().manual_seed(0)),
        )
    )
    assert own > published + 5
