"""Which result a restoration returns: the fit's or a classical method's, chosen by observations that were held out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from staf._documents import Document
from staf._typing import Float

# The fit is returned where it is better by so many standard errors of the mean difference.
MARGIN = 2.0


@dataclass(frozen=True)
class Candidate:
    """A result, (n, c) fitted numbers as from `task.predict`, and how well its method predicts what it did not see.

    `errors` (m,) are squared errors at the held-out observations, of the method applied without them.
    """

    values: Float[Tensor, "n c"]
    errors: Float[Tensor, " m"]

    @property
    def error(self) -> float:
        """The root of the mean squared error at held-out observations."""
        return math.sqrt(float(self.errors.double().mean())) if len(self.errors) else math.nan


@dataclass(frozen=True)
class Choice:
    """The result that is returned, the method behind it, and why; `errors` has the held-out error of every method."""

    method: str
    values: Float[Tensor, "n c"]
    reason: str
    errors: dict[str, float]
    fitted: bool

    def document(self) -> Document:
        """What a metrics file says of it."""
        return {
            "method": self.method,
            "fitted": self.fitted,
            "reason": self.reason,
            "held_out_errors": self.errors,
        }


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
    gain = (rival.errors - fit.errors).double()
    mean = float(gain.mean())
    spread = float(gain.std()) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    won = mean > MARGIN * spread and math.isfinite(fit.error)
    first, second = (model, best) if won or mean > 0 else (best, model)
    why = (
        f"held-out {what}: {first} predicts them with an error of {errors[first]:.4g}, {second} with "
        f"{errors[second]:.4g}"
    )
    if won:
        return Choice(model, fit.values, why, errors, fitted=True)
    if mean > 0:
        why += f", too small a difference for {len(gain)} {what}"
    return Choice(best, rival.values, why, errors, fitted=False)
