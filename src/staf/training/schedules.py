"""How learning rates change over a fit: a multiplier of the fraction done."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from staf._documents import Document


@dataclass(frozen=True)
class Constant:
    """f(t) = 1.

    >>> Constant()(0.7)
    1.0
    """

    def __call__(self, fraction: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Cosine:
    """f(t) = r(t) (floor + (1 - floor) (1 + cos(pi t)) / 2); r rises from 1/20 to 1 in the first `warm` of the fit.

    >>> Cosine(floor=0.01)(0.0), round(Cosine(floor=0.01)(1.0), 4)
    (1.0, 0.01)
    >>> round(Cosine(warm=0.1)(0.0), 4), round(Cosine(warm=0.1)(0.1), 4) == round(Cosine()(0.1), 4)
    (0.05, True)
    """

    floor: float = 0.01
    warm: float = 0.0

    def __post_init__(self) -> None:
        _check_multiplier("floor", self.floor)
        _check_multiplier("warm", self.warm)

    def __call__(self, fraction: float) -> float:
        rise = 1.0 if fraction >= self.warm else 0.05 + 0.95 * fraction / self.warm
        return rise * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * fraction)) / 2)


@dataclass(frozen=True)
class Exponential:
    """f(t) = final^t.

    >>> Exponential(final=0.25)(0.5)
    0.5
    """

    final: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.final <= 1:
            raise ValueError(f"final must be in (0, 1], got {self.final}")

    def __call__(self, fraction: float) -> float:
        return self.final**fraction


Schedule = Constant | Cosine | Exponential
SCHEDULES: dict[str, type[Constant] | type[Cosine] | type[Exponential]] = {
    "constant": Constant,
    "cosine": Cosine,
    "exponential": Exponential,
}


def to_plain(schedule: Schedule) -> Document:
    """A schedule as JSON-able data.

    >>> to_plain(Cosine(0.1))
    {'name': 'cosine', 'floor': 0.1, 'warm': 0.0}
    """
    return {"name": type(schedule).__name__.lower(), **asdict(schedule)}


def from_plain(data: Document) -> Schedule:
    """The inverse of `to_plain`, refusing names and arguments that are not known."""
    arguments = dict(data)
    name = arguments.pop("name", None)
    if name not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {name!r}")
    return SCHEDULES[name](**arguments)


def _check_multiplier(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be in [0, 1], got {value}")
