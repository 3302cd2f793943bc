"""The published constants of every network, as its authors' own scripts have them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from staf.nn import NETWORKS
from staf.nn.networks.spec import TASKS
from staf.planning import plans, recipes
from staf.training.schedules import Constant, Exponential

IMAGE = SimpleNamespace(in_features=2, out_features=3, shape=(256, 256))
SOUND = SimpleNamespace(in_features=1, out_features=1, shape=(44100,), rate=44100)
VOLUME = SimpleNamespace(in_features=3, out_features=1, shape=(64, 64, 48))
COARSE = SimpleNamespace(in_features=2, out_features=3, shape=(256, 256), observed=SimpleNamespace(shape=(64, 64)))
SIGNALS = {"image": IMAGE, "audio": SOUND, "shape": VOLUME, "super_resolution": COARSE, "denoising": IMAGE}


@pytest.mark.parametrize(
    ("model", "task", "rate", "final", "arguments"),
    [
        ("siren", "image", 1e-4, 1, {"omega0": 30}),
        ("siren", "audio", 1e-4, 1, {"omega0": 3000, "hidden_omega0": 30}),
        ("finer", "image", 1e-4, 0.1, {"omega0": 30, "first_bias": 5}),
        ("wire", "image", 5e-3, 0.1, {"omega0": 20, "hidden_omega0": 20, "sigma0": 30}),
        ("wire", "shape", 5e-3, 0.2, {"omega0": 10, "hidden_omega0": 10, "sigma0": 40}),
        ("wire", "super_resolution", 1e-2, 0.2, {"omega0": 8, "sigma0": 6}),
        ("wire", "denoising", 5e-3, 0.1, {"omega0": 5, "sigma0": 5}),
        ("incode", "image", 9e-4, 0.1, {"omega0": 30, "harmoniser": "image"}),
        ("incode", "audio", 9e-5, 0.2, {"omega0": 3000, "harmoniser": "audio", "sample_rate": 44100}),
        ("incode", "super_resolution", 9e-4, 0.1, {"harmoniser": "image"}),
        ("incode", "denoising", 1.5e-4, 0.1, {"omega0": 10, "hidden_omega0": 30, "harmoniser": "denoising"}),
        ("incode", "shape", 1e-4, 0.2, {"harmoniser": "shape"}),
        ("mfn", "image", 1e-2, 1, {"input_scale": 256}),
        ("ffn", "image", 1e-3, 1, {"scale": 10, "features": 256, "sigmoid": True}),
        ("ffn", "audio", 1e-3, 1, {"sigmoid": False}),
        ("pemlp", "shape", 5e-4, 0.1, {"bands": 10}),
        ("pemlp", "image", 1e-3, 0.1, {"bands": 6}),
        ("pemlp", "super_resolution", 5e-4, 0.1, {"bands": 4}),
        ("staf", "image", 1e-3, 0.05, {"omega0": 30, "law": "theorem", "weights": "torch"}),
    ],
)
def test_the_constants_of_the_original_works(
    model: str, task: str, rate: float, final: float, arguments: dict[str, Any]
) -> None:
    chosen = plans.preset(SIGNALS[task], f"paper_{task}", model=model)
    assert (chosen.recipe.optimiser, chosen.recipe.rate) == ("adam", rate)
    assert chosen.recipe.schedule == (Constant() if final == 1 else Exponential(final))
    built = chosen.field(0).architecture["arguments"]
    assert {name: built[name] for name in arguments} == arguments


@pytest.mark.parametrize("model", [name for name, spec in NETWORKS.items() if not spec.grid])
@pytest.mark.parametrize("task", TASKS)
def test_every_network_has_a_preset_for_every_task_of_the_paper(model: str, task: str) -> None:
    signal = SIGNALS[task]
    chosen = getattr(plans, f"paper_{model}_{task}")(signal)
    assert chosen.recipe.convention == "ends"
    assert chosen.recipe.epochs == getattr(recipes, f"paper_{task}")().epochs, "the budget is the paper's"
    assert "published constants" in chosen.reasons["preset"]
    assert chosen.field(0).architecture["arguments"]["in_features"] == signal.in_features


def test_the_batches_of_other_authors() -> None:
    batches = {m: plans.preset(IMAGE, "paper_image", model=m).recipe.batch for m in ("staf", "incode", "wire", "siren")}
    assert batches == {"staf": 4096, "incode": 65_536, "wire": 65_536, "siren": 4096}
    assert plans.preset(COARSE, "paper_super_resolution", model="incode").recipe.batch == 65_536


def test_the_released_denoising_has_its_scheduler_off() -> None:
    chosen = plans.released_staf_denoising(IMAGE)
    assert (chosen.recipe.rate, chosen.recipe.schedule) == (2.5e-4, Constant())
    assert plans.paper_staf_denoising(IMAGE).recipe.schedule == Exponential(0.1)


def test_a_preset_says_whose_training_it_is() -> None:
    reasons = plans.paper_wire_image(IMAGE).reasons
    assert reasons["training"] == "by its own authors: rate 0.005, schedule exponential (final 0.1), batch 65536"
    assert "training" not in plans.paper_staf_image(IMAGE).reasons
