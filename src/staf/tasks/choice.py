"""The choice between the field and the classical methods of a restoration, by held-out observations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from staf._documents import Document
from staf._messages import counted
from staf._typing import Float

# A result is better than another where it is so by this many standard errors of the mean difference.
MARGIN = 2.0


@dataclass(frozen=True)
class Candidate:
    """A result, (n, c) fitted numbers as from `task.predict`, and how well its method predicts what it did not see.

    `errors` (m,) are squared errors at the held-out observations, of the method applied without them; `predicted` is
    what it predicts there. Methods that are quickly applied again may have further observations, each predicted
    without it, after those that the fit did not see.
    """

    values: Float[Tensor, "n c"]
    errors: Float[Tensor, " m"]
    predicted: Float[Tensor, "m c"] | None = None

    @property
    def error(self) -> float:
        """The root of the mean squared error at held-out observations."""
        return math.sqrt(float(self.errors.double().mean())) if len(self.errors) else math.nan

    def first(self, count: int) -> Candidate:
        """The same with its first `count` held-out observations alone."""
        return Candidate(self.values, self.errors[:count], None if self.predicted is None else self.predicted[:count])


@dataclass(frozen=True)
class Choice:
    """The result that is returned, the method behind it, and why; `errors` has the held-out error of every method.

    `fitted` is whether the fit has a part in it. A mean of several results has their `weights`.
    """

    method: str
    values: Float[Tensor, "n c"]
    reason: str
    errors: dict[str, float]
    fitted: bool
    weights: Mapping[str, float] = field(default_factory=dict)

    def document(self) -> Document:
        """The entry of a metrics file."""
        return {
            "method": self.method,
            "fitted": self.fitted,
            "reason": self.reason,
            "held_out_errors": self.errors,
            **({"weights": dict(self.weights)} if self.weights else {}),
        }

    def told(self) -> str:
        """The result and the reason, in a sentence."""
        if self.weights:
            own = self.reason.replace(f"the error of {self.method}", "its error")
            return f"the result is a {self.method}: {own.replace(f'that of {self.method}', 'its own')}"
        where = "is the fit" if self.fitted else f"comes from {self.method}, not from the fit"
        return f"the result {where}: {self.reason}"


def choose(
    model: str,
    fit: Candidate,
    classical: Mapping[str, Candidate],
    *,
    what: str = "pixels",
    objection: str | None = None,
) -> Choice:
    """The fit, if it predicts held-out data clearly better than the best classical method; otherwise this one.

    `clearly_better` and `clearly_best` say what that means; the first classical method is the one in doubt.
    `objection` is another reason against the fit, if there is one.

    >>> import torch
    >>> good, bad = torch.full((50,), 0.01), torch.full((50,), 0.04)
    >>> choice = choose("staf", Candidate(torch.zeros(1, 1), bad), {"Lanczos": Candidate(torch.ones(1, 1), good)})
    >>> print(choice.method, "-", choice.reason)
    Lanczos - on held-out pixels, the error of Lanczos is 0.1, and that of staf is 0.2
    """
    errors = {model: fit.error, **{name: candidate.error for name, candidate in classical.items()}}
    best = clearly_best(classical)
    rival = classical[best]
    if objection is not None:
        return Choice(best, rival.values, objection, errors, fitted=False)
    if not len(fit.errors):
        why = f"no {what} were held out, and staf fits what is observed better than {best}".replace("staf", model)
        return Choice(model, fit.values, why, errors, fitted=True)
    mean, won = advantage(fit, rival)[0], clearly_better(fit, rival)
    first, second = (model, best) if won or mean > 0 else (best, model)
    why = (
        f"on held-out {what}, the error of {first} is {errors[first]:.4g}, and that of {second} is {errors[second]:.4g}"
    )
    if won:
        return Choice(model, fit.values, why, errors, fitted=True)
    if mean > 0:
        why += f"; the difference is too small for {counted(len(fit.errors), what.removesuffix('s'))}"
    return Choice(best, rival.values, why, errors, fitted=False)


def clearly_best(candidates: Mapping[str, Candidate]) -> str:
    """The first method, unless others are clearly better: then the one of these with the smallest error.

    The first method is the usual one. With few held-out observations and similar methods, the one with the smallest
    error is often not the best, so it is replaced only if another is clearly better.

    >>> import torch
    >>> usual, lucky, good = (torch.tensor(errors) for errors in ([1.0, 1.2, 1.1], [0.1, 1.3, 1.2], [0.4, 0.5, 0.5]))
    >>> tried = {"usual": usual, "lucky": lucky, "good": good}
    >>> tried = {name: Candidate(torch.zeros(1, 1), errors) for name, errors in tried.items()}
    >>> clearly_best({name: tried[name] for name in ("usual", "lucky")}), clearly_best(tried)
    ('usual', 'good')
    """
    usual, *others = candidates
    clear = [name for name in others if clearly_better(candidates[name], candidates[usual])]
    return min(clear, key=lambda name: candidates[name].error, default=usual)


def clearly_better(one: Candidate, other: Candidate, least: float = 0.0, margin: float = MARGIN) -> bool:
    """Whether one's squared errors are less by `margin` standard errors, and by the share `least` of the other's."""
    mean, spread = advantage(one, other)
    return math.isfinite(one.error) and mean > max(margin * spread, least * other.error**2)


def advantage(one: Candidate, other: Candidate) -> tuple[float, float]:
    """The mean difference of squared errors, and its standard error, of a paired test.

    >>> import torch
    >>> a, b = (Candidate(torch.zeros(1, 1), torch.full((4,), error)) for error in (1.0, 3.0))
    >>> advantage(a, b)
    (2.0, 0.0)
    """
    common = min(len(one.errors), len(other.errors))
    gain = (other.errors[:common] - one.errors[:common]).double()
    spread = float(gain.std()) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    return float(gain.mean()), spread
