"""The rates of mini-batches on a CPU are the best of the search that is kept, for every network."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from staf.nn import NETWORKS
from staf.planning import Budget, plan

LOG = Path(__file__).parents[2] / "docs" / "results" / "data" / "cpu-rates.csv"
PHOTO = SimpleNamespace(in_features=2, out_features=3, shape=(256, 256))
RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)


def searches() -> dict[tuple[str, int], dict[str, dict[float, float]]]:
    """By network and steps, then by image: PSNR at every rate, of the images that all rates were tried on."""
    found: dict[tuple[str, int], dict[str, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    with LOG.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["network"], int(row["steps"])][row["image"]][float(row["rate"])] = float(row["psnr"])
    return {
        key: {image: tried for image, tried in images.items() if sorted(tried) == list(RATES)}
        for key, images in found.items()
    }


def best_rate(images: dict[str, dict[float, float]]) -> float:
    """The rate with the highest mean PSNR; the larger of two that are equal."""
    return max(RATES, key=lambda rate: (round(sum(tried[rate] for tried in images.values()) / len(images), 2), rate))


def test_every_network_of_pictures_was_searched_alike():
    tried = searches()
    searched = {name for name, spec in NETWORKS.items() if spec.rates.mini_batch is not None}
    assert searched == {name for name, _ in tried}
    for name in searched:
        assert "kodim13" in tried[name, 30], name
        assert "kodim13" in tried[name, 200], name
        assert NETWORKS[name].rates.mini_batch == (best_rate(tried[name, 30]), best_rate(tried[name, 200])), name


def test_every_row_names_its_machine():
    with LOG.open(encoding="utf-8") as file:
        assert {row["machine"] for row in csv.DictReader(file)} == {"NVIDIA H200 in float32", "one thread of AMD EPYC"}


@pytest.mark.parametrize(("budget", "place"), [(Budget(steps=30), 0), (Budget(seconds=5.0), 0), (Budget(steps=300), 1)])
def test_a_plan_takes_them_and_says_so(budget, place):
    for model in ("staf", "siren", "wire"):
        chosen = plan(PHOTO, budget, device="cpu", model=model)
        assert chosen.recipe.rate == chosen.recipe.matrix_rate == NETWORKS[model].rates.mini_batch[place]
        assert f"searched for {model} as for every network" in chosen.reasons["rate"]
    assert "searched" not in plan(PHOTO, budget, device="cuda").reasons["rate"]
