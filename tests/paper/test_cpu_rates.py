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
# The search ended before it came to these.
NOT_RUN = {("pemlp", 200)}


def best_rates() -> dict[tuple[str, int], float]:
    """The rate with the highest mean PSNR over the images that every rate was tried on."""
    found: dict[tuple[str, int], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    with LOG.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["network"], int(row["steps"])][float(row["rate"])].append(float(row["psnr"]))
    best = {}
    for key, rates in found.items():
        most = max(map(len, rates.values()))
        whole = {rate: sum(values) / most for rate, values in rates.items() if len(values) == most}
        best[key] = max(whole, key=lambda rate: round(whole[rate], 2) + rate * 1e-6)
    return best


def test_every_network_of_pictures_was_searched_alike():
    best = best_rates()
    searched = {name for name, spec in NETWORKS.items() if spec.rates.mini_batch is not None}
    assert searched == {name for name, _ in best}
    for name in searched:
        few, many = NETWORKS[name].rates.mini_batch
        assert few == best[name, 30], name
        assert (name, 200) in NOT_RUN or many == best[name, 200], name


@pytest.mark.parametrize(("budget", "place"), [(Budget(steps=30), 0), (Budget(seconds=5.0), 0), (Budget(steps=300), 1)])
def test_a_plan_takes_them_and_says_so(budget, place):
    for model in ("staf", "siren", "wire"):
        chosen = plan(PHOTO, budget, device="cpu", model=model)
        assert chosen.recipe.rate == chosen.recipe.matrix_rate == NETWORKS[model].rates.mini_batch[place]
        assert f"searched for {model} as for every network" in chosen.reasons["rate"]
    assert "searched" not in plan(PHOTO, budget, device="cuda").reasons["rate"]
