"""All fits of one arm with one set of settings, from however many runs: other signals and other seeds join."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from paper.runner.result import RunResult
from paper.sines.arms import ARMS

FROZEN = "frozen sine"
# A signal's name and a seed.
Pair = tuple[str, int]
Values = dict[Pair, float]


@dataclass
class Fits:
    """What an arm reached, by signal and seed, with the settings that all of its runs share.

    Args:
        arm: its name.
        part: of the comparison.
        size: of the signals.
        base_width: of the frozen sine that it is compared with; an arm that is sized as another is wider.
        planned_steps: of that frozen sine.
        factor: of the first omega0.
        omega_rate: of Omega, as a multiple of the rate, if not ours.
        rate: of the fits.
        steps: of the arm itself; more where it is timed as another.
        machine: `GPU` or `CPU`, whose fits are compared with each other only.
        values: what was measured.
        search: rate to the mean measure of the search; of one rate alone where the signal is its own search.
        search_seeds: rate to how many seeds that mean is of.
        details: of the latest run, with what does not depend on signal and seed.
        bytes: bits to the bytes of a field with rounded matrices.
        rounded: bits to the PSNR with rounded matrices.
        refined: the same after the steps of what is still float.
    """

    arm: str
    part: str
    size: float
    base_width: int
    planned_steps: int
    factor: float
    omega_rate: float | None
    rate: float
    steps: int = 0
    machine: str = "CPU"
    values: Values = field(default_factory=dict)
    search: dict[str, float] = field(default_factory=dict)
    search_seeds: dict[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    rounded: dict[str, Values] = field(default_factory=dict)
    refined: dict[str, Values] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.values.values())))

    @property
    def name(self) -> str:
        """The arm, and the multiple of Omega's rate if it is not ours."""
        return self.arm if self.omega_rate is None else f"{self.arm}, Omega's rate x{self.omega_rate:g}"

    @property
    def searched(self) -> bool:
        """Whether its rate is the best of several."""
        return len(self.search) > 1

    def add(self, result: RunResult) -> None:
        """Join the fits of another run; where it repeats one, the later run counts."""
        details = result.details
        pairs = [(name, seed) for name in details["values"] for seed in result.configuration["seeds"]]
        self.values |= zip(pairs, _flat(details["values"].values()), strict=True)
        for rate, level in details["search"].items():
            # A mean over the seeds of all runs.
            before, now = self.search_seeds.get(rate, 0), len(result.configuration["seeds"])
            self.search[rate] = (before * self.search.get(rate, 0.0) + now * level) / (before + now)
            self.search_seeds[rate] = before + now
        self.details = details
        for bits, kept in details.get("quantised", {}).items():
            # Runs of before every seed was quantised have the first one of each signal.
            own = pairs if len(kept["rounded"]) == len(pairs) else pairs[:: len(result.configuration["seeds"])]
            self.bytes[bits] = kept["bytes"]
            self.rounded.setdefault(bits, {}).update(zip(own, kept["rounded"], strict=True))
            self.refined.setdefault(bits, {}).update(zip(own, kept["refined"], strict=True))


def merged(results: Sequence[RunResult]) -> list[Fits]:
    """The fits of all runs but those of codes, in the order of the arms, then of the rates."""
    found: dict[tuple[Any, ...], Fits] = {}
    for result in sorted(results, key=lambda run: str(run.document.get("date", ""))):
        c = result.configuration
        if c["part"] == "codes":
            continue
        place = (
            str(c["arm"]), str(c["part"]), float(c["size"]), int(c["width"]), int(c["steps"]), float(c["factor"]),
            c.get("omega_rate"), float(result.details["rate"]), int(result.details["steps"]), _machine(result),
        )  # fmt: skip
        found.setdefault(place, Fits(*place)).add(result)
    order = list(ARMS)
    return sorted(
        found.values(), key=lambda fits: (fits.omega_rate or 0, order.index(fits.arm), fits.rate, fits.machine)
    )


def of(fits: Iterable[Fits], **settings: Any) -> list[Fits]:
    """Those with these settings.

    >>> of([Fits("frozen sine", "grids", 64, 64, 150, 1.0, None, 2e-3)], part="grids", size=128)
    []
    """
    return [one for one in fits if all(getattr(one, name) == value for name, value in settings.items())]


def gain(own: Values, base: Values) -> Values:
    """Own values less those of the other for each signal and seed that both have.

    >>> gain({("a", 0): 3.0, ("a", 1): 5.0}, {("a", 1): 4.0})
    {('a', 1): 1.0}
    """
    return {pair: own[pair] - base[pair] for pair in own if pair in base}


def mean_and_error(gains: Values | Sequence[float] | np.ndarray) -> str:
    """The mean with its standard error; nothing of nothing.

    >>> mean_and_error([1.0, 2.0, 3.0])
    '+2.00 ± 0.58'
    """
    values = np.array(list(gains.values() if isinstance(gains, Mapping) else gains), dtype=float)
    return f"{values.mean():+.2f} ± {standard_error(values):.2f}" if len(values) else ""


def standard_error(values: np.ndarray) -> float:
    """Of the mean; NaN of one value."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def student(count: int) -> float:
    """How many standard errors a mean of so many values has to be from zero to be so at 95%: Student's t, two-sided.

    By the expansion about the normal distribution; for two values, 24% too small.

    >>> [round(student(count), 2) for count in (5, 10, 20)]
    [2.77, 2.26, 2.09]
    """
    z, free = NormalDist().inv_cdf(0.975), count - 1
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / free**power for power, term in enumerate(terms, 1))


def is_positive(gains: Values) -> bool:
    """Whether the mean difference is above zero at 95%, by one mean for each seed: a seed starts alike on all signals.

    >>> three = {("a", 0): 1.0, ("a", 1): 0.1, ("a", 2): 1.0}
    >>> is_positive(three), is_positive(three | {("b", seed): value for (_, seed), value in three.items()})
    (False, False)
    >>> is_positive(three | {("a", seed + 3): value for (_, seed), value in three.items()})
    True
    """
    seeds: dict[int, list[float]] = {}
    for (_, seed), value in gains.items():
        seeds.setdefault(seed, []).append(value)
    means = np.array([np.mean(some) for some in seeds.values()])
    return bool(len(means) > 1 and means.mean() > student(len(means)) * standard_error(means))


def won(gains: Values) -> str:
    """How many of the differences are above zero.

    >>> won({("a", 0): 1.0, ("a", 1): -1.0})
    '1 of 2'
    """
    return f"{sum(value > 0 for value in gains.values())} of {len(gains)}" if gains else ""


def by_signal(gains: Values) -> str:
    """The lowest and the highest mean of a signal; nothing of one signal alone.

    >>> by_signal({("a", 0): 1.0, ("a", 1): 2.0, ("b", 0): -1.0})
    '-1.00 to +1.50'
    """
    signals = dict.fromkeys(name for name, _ in gains)
    means = [float(np.mean([value for (name, _), value in gains.items() if name == signal])) for signal in signals]
    return f"{min(means):+.2f} to {max(means):+.2f}" if len(means) > 1 else ""


def own_rates(fits: Sequence[Fits]) -> list[Fits]:
    """Each arm and number of steps at its best rate by the search, of runs whose signal is its own search (scenes)."""
    best: dict[tuple[str, int], Fits] = {}
    for one in fits:
        level = one.search.get(f"{one.rate:g}", -math.inf)
        have = best.get((one.name, one.steps))
        if have is None or level > have.search.get(f"{have.rate:g}", -math.inf):
            best[one.name, one.steps] = one
    return list(best.values())


def _flat(values: Iterable[Sequence[float]]) -> list[float]:
    return [float(value) for one in values for value in one]


def _machine(result: RunResult) -> str:
    return "GPU" if str(result.document.get("device", "")).startswith("cuda") else "CPU"
