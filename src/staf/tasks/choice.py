"""Which result a restoration returns: the fit's or a classical method's, chosen by observations that were held out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from staf._documents import Document
from staf._typing import Float

# The fit is returned where it is better by so many standard errors of the mean difference.
MARGIN = 2.0


@dataclass(frozen=True)
class Candidate:
    """A result, (n, c) fitted numbers as from `task.predict`, and how well its method predicts what it did not see.

    `errors` (m,) are squared errors at the held-out observations, of the method applied without them; `predicted` is
    what it predicts there.
    """

    values: Float[Tensor, "n c"]
    errors: Float[Tensor, " m"]
    predicted: Float[Tensor, "m c"] | None = None

    @property
    def error(self) -> float:
        """The root of the mean squared error at held-out observations."""
        return math.sqrt(float(self.errors.double().mean())) if len(self.errors) else math.nan


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
        """What a metrics file says of it."""
        return {
            "method": self.method,
            "fitted": self.fitted,
            "reason": self.reason,
            "held_out_errors": self.errors,
            **({"weights": dict(self.weights)} if self.weights else {}),
        }

    def told(self) -> str:
        """Which result it is and why, in a sentence."""
        if self.weights:
            return f"the result is a {self.method}: {self.reason}"
        return f"the result is {'the fit' if self.fitted else 'not the fit but ' + self.method}: {self.reason}"


def choose(
    model: str,
    fit: Candidate,
    classical: Mapping[str, Candidate],
    *,
    what: str = "pixels",
    objection: str | None = None,
) -> Choice:
    """The fit, where it predicts held-out observations clearly better than every classical method; else the best one.

    The test is paired: the mean over observations of classical minus fitted squared error must exceed `MARGIN` standard
    errors. `objection` is another reason against the fit, if there is one.

    >>> import torch
    >>> good, bad = torch.full((50,), 0.01), torch.full((50,), 0.04)
    >>> choice = choose("staf", Candidate(torch.zeros(1, 1), bad), {"Lanczos": Candidate(torch.ones(1, 1), good)})
    >>> print(choice.method, "-", choice.reason)
    Lanczos - held-out pixels: Lanczos predicts them with an error of 0.1, staf with 0.2
    """
    errors = {model: fit.error, **{name: candidate.error for name, candidate in classical.items()}}
    best = min(classical, key=lambda name: errors[name])
    rival = classical[best]
    if objection is not None:
        return Choice(best, rival.values, objection, errors, fitted=False)
    if not len(fit.errors):
        why = f"no {what} were held out, and staf fits what is observed better than {best}".replace("staf", model)
        return Choice(model, fit.values, why, errors, fitted=True)
    mean, spread = advantage(fit, rival)
    won = mean > MARGIN * spread and math.isfinite(fit.error)
    first, second = (model, best) if won or mean > 0 else (best, model)
    why = (
        f"held-out {what}: {first} predicts them with an error of {errors[first]:.4g}, {second} with "
        f"{errors[second]:.4g}"
    )
    if won:
        return Choice(model, fit.values, why, errors, fitted=True)
    if mean > 0:
        why += f", too small a difference for {len(fit.errors)} {what}"
    return Choice(best, rival.values, why, errors, fitted=False)


def advantage(one: Candidate, other: Candidate) -> tuple[float, float]:
    """How much less one's squared errors are in the mean, and the standard error of that: the test is paired.

    >>> import torch
    >>> a, b = (Candidate(torch.zeros(1, 1), torch.full((4,), error)) for error in (1.0, 3.0))
    >>> advantage(a, b)
    (2.0, 0.0)
    """
    gain = (other.errors - one.errors).double()
    spread = float(gain.std()) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    return float(gain.mean()), spread
