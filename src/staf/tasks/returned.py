"""The result of a restoration: the field or a classical method, chosen by held-out data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from staf._typing import Float
from staf.operators import AreaDownsampling
from staf.operators.linear import SampleMeans
from staf.tasks.choice import Candidate, Choice, choose, clearly_best, clearly_better
from staf.tasks.classical import UPSCALERS, denoising_candidates
from staf.tasks.denoising import Denoising
from staf.tasks.filling import filled
from staf.tasks.inverse import InverseProblem
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.learned_enlarging import FACTORS, enlarged_by_network
from staf.tasks.learned_filling import filled_by_network
from staf.tasks.left_out import left_out
from staf.tasks.mixture import mixture
from staf.tasks.non_local import MOST_PIXELS, back_projected, sharpened
from staf.tasks.super_resolution import SuperResolution
from staf.training.task import Predict

# Smaller pictures have too few similar patches, and say little about what these are worth.
LEAST_SIDE = 24
# A picture that interpolation brings back as well as this has no edges that it blurs.
NOTHING_TO_IMPROVE = 2 / 255
# A mean of several results is returned where the mean squared error is less by this share at least.
LEAST_GAIN = 1e-3
# And, among classical methods, by so many standard errors: a mean of them is rarely much worse than the best.
MEAN_MARGIN = 1.0
LEARNED = "learned enlarging"

# An interpolated picture (c, h, w), what is observed, the factor: a better picture.
Improve = Callable[[Tensor, Tensor, int], Tensor]


def returned_denoising(
    task: Denoising, predict: Predict, model: str = "staf", classical: Mapping[str, Candidate] | None = None
) -> Choice:
    """The field, a classical method or a mean of several, which predicts held-out pixels best.

    `classical` are results of `denoising_candidates` that are there already.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> noisy = Image(np.random.default_rng(0).integers(60, 190, (16, 16), np.uint8))
    >>> task = Denoising(noisy, generator=torch.Generator().manual_seed(0), held_out=0.1)
    >>> returned_denoising(task, lambda x: x[:, :1] * 0 + 9.0).fitted
    False
    """
    held = task.held_out_index
    with torch.no_grad():
        seen = task.transform.clamp(predict(task.coordinates[held])).detach()
    target = task.target.cpu()[torch.cat(left_out(task))]
    fit = Candidate(task.predict(predict).cpu(), (seen.cpu() - target[: len(held)]).square().mean(-1), seen.cpu())
    return best_of(model, fit, denoising_candidates(task) if classical is None else classical, target)


def returned_upscaling(task: SuperResolution, predict: Predict, model: str = "staf") -> Choice:
    """The field, learned enlarging, or bicubic or Lanczos interpolation; each with the area means that are observed.

    The area means of the true image are the observation. So if an estimate is projected onto the images with these area
    means, it comes closer to the true image. Held-out pixels choose; a task
    that holds out none has its field returned if that fits the observation better than the interpolation does.
    A network that was trained on other photos takes the place of an interpolation, and what else was chosen is
    sharpened by its own similar patches, unless plain interpolation reproduces the observation clearly better from
    area means of its own.
    """
    base = best_upscaler(task)
    seen = task.observed_by(predict).cpu()
    observation, held, fitted = task.observation.cpu(), task.held_out_index.cpu(), task.train_index.cpu()
    enlarged = UPSCALERS[base](observation, task.factor)
    again = AreaDownsampling(task.signal.shape, task.factor).A(enlarged)

    def squares(of: Tensor, index: Tensor) -> Tensor:
        return (task.transform.clamp(of) - observation).square().flatten(1)[:, index].mean(0)

    known = torch.ones(observation[0].numel(), dtype=torch.bool)
    known[held] = False
    trained = task.factor in FACTORS and helps(task, base, learned)
    fill = filled_by_network if trained else filled
    unseen = fill(observation, known.reshape(observation.shape[1:])) if len(held) else observation
    name, best = (LEARNED, learned(enlarged, observation, task.factor)) if trained else (f"{base}, corrected", enlarged)
    candidates = {name: Candidate(corrected(task, best), squares(unseen, held))}
    fine = task.predict(predict).cpu().T.reshape(-1, *task.signal.shape)
    fit = Candidate(corrected(task, fine), squares(seen, held))
    objection = None
    own, others = (float(squares(of, fitted).mean().sqrt()) for of in (seen, again))
    if not len(held) and not own < others:
        objection = (
            f"observed pixels: the area means of {base} differ from them by {others:.4g}, those of {model}, which was "
            f"fitted to them, by {own:.4g}: the fit needs more steps"
        )
    choice = choose(model, fit, candidates, objection=objection)
    if choice.method == LEARNED or not helps(task, base, sharpened, MOST_PIXELS):
        return choice
    values = sharpened(fine if choice.fitted else enlarged, observation, task.factor)
    method = f"{model if choice.fitted else base}, sharpened"
    why = f"{choice.reason}; it is sharpened by similar patches, which bring back what is observed well enough"
    return replace(choice, method=method, values=task.transform.clamp(values).flatten(1).T, reason=why)


def learned(values: Float[Tensor, "c h w"], observed: Float[Tensor, "c a b"], factor: int) -> Tensor:
    """What the network that was trained on other photos makes of the observation; `values` has no part in it."""
    return enlarged_by_network(observed, factor)


def returned_inverse(task: InverseProblem, predict: Predict, model: str = "staf") -> Choice:
    """The field of any inverse problem, or the classical method for its operator that predicts held-out data best."""
    return chosen_of(task, predict, inverse_candidates(task), model)


def chosen_of(task: InverseProblem, predict: Predict, classical: Mapping[str, Candidate], model: str) -> Choice:
    """The same among classical results that are there already."""
    held = task.held_out_index.cpu()
    seen, observed = (task.judged(of).flatten(1).T.cpu() for of in (task.observed_by(predict), task.observation))
    fit = Candidate(task.predict(predict).cpu(), (seen[held] - observed[held]).square().mean(-1), seen[held])
    mixed = not isinstance(task.operator, SampleMeans)
    return best_of(model, fit, classical, observed[torch.cat(left_out(task))], what="observations", mixed=mixed)


def best_of(
    model: str,
    fit: Candidate,
    classical: Mapping[str, Candidate],
    target: Tensor,
    *,
    what: str = "pixels",
    mixed: bool = False,
) -> Choice:
    """The fit, a classical result, or a mean of several if that predicts held-out observations clearly better.

    First the classical methods are settled among themselves, by all the observations that they were applied without.
    The fit is compared with what that gives, by those that it did not see. Where each observation is `mixed` of many
    samples, a fit that is not better by itself has no part in a mean: neighbouring rays err together, so that a small
    gain there says little of the samples (a cone beam of 24x24x24: SART 30.8 dB, the mean that rays preferred 30.4).
    """
    parts, settled = _settled(classical, target)
    name, count = _named(parts), len(fit.errors)
    rival = {name: settled.first(count)}
    choice = choose(model, fit, rival, what=what)
    errors = {**{method: candidate.error for method, candidate in classical.items()}, **choice.errors}
    found = None if mixed and not choice.fitted else mixture(target[:count], {model: fit, **rival})
    alone = fit if choice.fitted else rival[name]
    if found is None or not clearly_better(found[1], alone, LEAST_GAIN):
        weights = parts if len(parts) > 1 and not choice.fitted else {}
        return replace(choice, errors=errors, weights=weights)
    shares, mean = found
    weights = {model: shares[model], **{method: shares[name] * share for method, share in parts.items()}}
    why = (
        f"on held-out {what}, its error is {mean.error:.4g}, and that of {choice.method} alone is "
        f"{choice.errors[choice.method]:.4g}"
    )
    return Choice(_named(weights), mean.values, why, {**errors, "mean": mean.error}, fitted=True, weights=weights)


def _settled(classical: Mapping[str, Candidate], target: Tensor) -> tuple[dict[str, float], Candidate]:
    """The classical method that is clearly best, or a mean of several that is clearly better; the shares of each."""
    name = clearly_best(classical)
    found = mixture(target, classical)
    if found is None or not clearly_better(found[1], classical[name], LEAST_GAIN, MEAN_MARGIN):
        return {name: 1.0}, classical[name]
    return found


def _named(weights: Mapping[str, float]) -> str:
    if len(weights) == 1:
        return next(iter(weights))
    return f"mean ({', '.join(f'{name} {weight:.0%}' for name, weight in weights.items())})"


def corrected(task: SuperResolution, values: Float[Tensor, "c h w"]) -> Float[Tensor, "n c"]:
    """The picture nearest to `values` whose area means are what is observed, clamped."""
    return task.transform.clamp(back_projected(values, task.observation.cpu(), task.factor)).flatten(1).T


def best_upscaler(task: SuperResolution) -> str:
    """The interpolation that reproduces the observation best from its own area means."""
    reduced = _reduced(task)
    if reduced is None:
        return "Lanczos"
    coarse, part = reduced
    return min(UPSCALERS, key=lambda name: float((UPSCALERS[name](coarse, task.factor) - part).square().mean()))


def helps(task: SuperResolution, base: str, improved: Improve, most: float = math.inf) -> bool:
    """Whether an interpolated picture is improved: unless the interpolation reproduces the observation clearly better.

    It is brought back from its own area means. Photos gain from the methods that are asked about, so that one is left
    out for a reason only. Where the picture is smooth, the result has more than `most` pixels, or the observation is
    small, it is not tried.
    """
    reduced = _reduced(task)
    if reduced is None or task.signal.points > most or min(reduced[1].shape[1:]) < LEAST_SIDE:
        return False
    coarse, part = reduced
    plain = UPSCALERS[base](coarse, task.factor)
    tried = (plain, improved(plain, coarse, task.factor))
    before, after = (Candidate(of, (of - part).square().mean(0).flatten()) for of in tried)
    return before.error > NOTHING_TO_IMPROVE and not clearly_better(before, after)


def _reduced(task: SuperResolution) -> tuple[Tensor, Tensor] | None:
    """Area means of the largest part of the observation that the factor divides, and that part."""
    observed, factor = task.observation.cpu(), task.factor
    sides = [size // factor * factor for size in observed.shape[1:]]
    if min(sides) == 0:
        return None
    part = observed[:, : sides[0], : sides[1]]
    return AreaDownsampling(tuple(sides), factor).A(part), part
