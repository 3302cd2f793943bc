"""A weighted mean of several results, with weights chosen by held-out observations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import torch
from torch import Tensor

from staf._typing import Float
from staf.tasks.choice import Candidate

# With fewer held-out observations the weights are not worth their noise.
LEAST = 100
# Smaller weights are left out, because the parts of a mean are named.
SMALLEST = 0.02


def mixture(
    target: Float[Tensor, "m c"], candidates: Mapping[str, Candidate]
) -> tuple[dict[str, float], Candidate] | None:
    """The mean of results whose held-out predictions are nearest to `target`, and the weight of each.

    Methods have different errors, so a mean of them is often better than each. Weights are at least 0 and add up to 1.
    The errors are cross-fitted: each half of the observations is predicted with the weights of the other half. The
    result is None if there are few observations, if a method has no predictions, or if one method has all the weight.

    >>> truth = torch.linspace(0, 1, 400)[:, None]
    >>> low, high = truth - 0.1 * truth.cos(), truth + 0.1 * truth.cos()
    >>> parts = {name: Candidate(x, (x - truth).square().mean(-1), x) for name, x in {"a": low, "b": high}.items()}
    >>> weights, mean = mixture(truth, parts)
    >>> {name: round(weight, 2) for name, weight in weights.items()}, mean.error < 1e-6
    ({'a': 0.5, 'b': 0.5}, True)
    """
    names = list(candidates)
    predictions = [candidates[name].predicted for name in names]
    known = [prediction for prediction in predictions if prediction is not None]
    if len(known) < len(names) or len(names) < 2 or len(target) < LEAST:
        return None
    parts = torch.stack(known).double()
    wanted = target.double()
    errors = wanted.new_zeros(len(wanted))
    even = torch.arange(len(wanted)) % 2 == 0
    for fitted, judged in ((even, ~even), (~even, even)):
        shares = simplex_weights(parts[:, fitted].flatten(1), wanted[fitted].flatten())
        errors[judged] = (torch.tensordot(shares, parts[:, judged], 1) - wanted[judged]).square().mean(-1)
    shares = simplex_weights(parts.flatten(1), wanted.flatten())
    shares = torch.where(shares < SMALLEST, 0.0, shares)
    shares = shares / shares.sum()
    weights = {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}
    if len(weights) < 2:
        return None
    values = sum((weights[name] * candidates[name].values for name in weights), start=torch.zeros(()))
    return weights, Candidate(values, errors, torch.tensordot(shares, parts, 1).to(target.dtype))


def simplex_weights(parts: Float[Tensor, "k n"], target: Float[Tensor, " n"]) -> Float[Tensor, " k"]:
    """The weights w >= 0, sum w = 1, with the least |sum_k w_k parts_k - target|^2: every set of parts is tried.

    >>> simplex_weights(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([0.25, 0.25]))
    tensor([0.7500, 0.2500], dtype=torch.float64)
    """
    off = parts.double() - target.double()
    gram = off @ off.T
    best, found = math.inf, torch.zeros(len(parts), dtype=torch.float64)
    for count in range(1, len(parts) + 1):
        for chosen in itertools.combinations(range(len(parts)), count):
            index = torch.tensor(chosen)
            inner = gram[index][:, index]
            # A little of the diagonal keeps parts that are the same from having no solution.
            inner = inner + 1e-10 * inner.diagonal().mean().clamp(min=1e-30) * torch.eye(count, dtype=torch.float64)
            share = torch.linalg.solve(inner, torch.ones(count, dtype=torch.float64))
            share = share / share.sum()
            error = float(share @ inner @ share)
            if bool((share >= 0).all()) and error < best:
                best, found = error, torch.zeros_like(found).index_copy(0, index, share)
    return found
