from __future__ import annotations

import torch

from staf.tasks.choice import Candidate
from staf.tasks.mixture import LEAST, mixture, simplex_weights
from staf.tasks.returned import best_of


def candidates(count: int, *sizes: float) -> tuple[torch.Tensor, dict[str, Candidate]]:
    """A target with noise, and methods that err independently by so much."""
    draw = torch.Generator().manual_seed(0)
    truth = torch.rand(count, 3, generator=draw)
    target = truth + 0.05 * torch.randn(truth.shape, generator=draw)
    found = {}
    for number, size in enumerate(sizes):
        values = truth + size * torch.randn(truth.shape, generator=draw)
        found[f"m{number}"] = Candidate(values, (values - target).square().mean(-1), values)
    return target, found


def test_weights_are_those_of_independent_errors():
    target, found = candidates(20_000, 0.1, 0.2)
    result = mixture(target, found)
    assert result is not None
    weights, mean = result
    assert abs(weights["m0"] - 0.8) < 0.02
    assert mean.error < found["m0"].error


def test_a_method_that_adds_nothing_gets_no_weight():
    target, found = candidates(5000, 0.05)
    worse = found["m0"].values + 0.3
    found["worse"] = Candidate(worse, (worse - target).square().mean(-1), worse)
    assert mixture(target, found) is None


def test_few_observations_are_not_mixed():
    target, found = candidates(LEAST - 1, 0.1, 0.1)
    assert mixture(target, found) is None


def test_weights_lie_on_the_simplex_even_for_parts_that_are_the_same():
    parts = torch.rand(1, 50).expand(3, 50)
    weights = simplex_weights(parts, torch.rand(50))
    assert bool((weights >= 0).all())
    assert abs(float(weights.sum()) - 1) < 1e-9


def test_a_mean_is_returned_where_held_out_pixels_prefer_it_and_it_says_so():
    target, found = candidates(3000, 0.1, 0.11)
    choice = best_of("m0", found["m0"], {"m1": found["m1"]}, target)
    assert choice.fitted
    assert choice.method.startswith("mean (m0 5")
    assert choice.told().startswith("the result is a mean (m0 ")
    assert choice.told().count("mean") == 1
    assert set(choice.document()["weights"]) == {"m0", "m1"}
    # A mean of a method with itself is no better than the method.
    same = best_of("m0", found["m0"], {"twin": found["m0"]}, target)
    assert same.method == "twin"


def test_where_observations_mix_samples_only_a_better_fit_has_a_part_in_a_mean():
    target, found = candidates(3000, 0.1, 0.11)
    worse, better = (
        best_of(own, found[own], {other: found[other]}, target, mixed=True)
        for own, other in (("m1", "m0"), ("m0", "m1"))
    )
    assert (worse.method, worse.fitted) == ("m0", False)
    assert better.method.startswith("mean (m0 ")
