"""The tables of unknown first frequencies: each arm at the rate of its own search, for each factor of omega0."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from paper.runner.result import RunResult
from paper.sines.arms import ARMS
from paper.sines.parts import OMEGA0
from staf._tables import Table

FROZEN = "frozen sine"
# Arm, multiple of Omega's rate, factor of omega0.
Place = tuple[str, float | None, float]
Runs = dict[Place, RunResult]


def omega0_tables(results: Sequence[RunResult]) -> dict[str, Table]:
    """For pictures and for sound, the means with their rates, and the differences from the frozen sine."""
    found = {}
    for part in OMEGA0:
        runs = {_place(result): result for result in results if result.configuration["part"] == part}
        name = f"sines-{part.replace(' ', '-')}"
        title = f"{OMEGA0[part].capitalize()}, first frequencies times a factor"
        found[f"{name}-searched"] = _table(runs, f"{title}: mean PSNR (dB) and rate", _mean)
        found[f"{name}-differences"] = _table(runs, f"{title}: dB over the frozen sine and pairs won", _difference)
    return found


def mean_and_error(values: np.ndarray) -> str:
    """The mean with its standard error.

    >>> mean_and_error(np.array([1.0, 2.0, 3.0]))
    '+2.00 ± 0.58'
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{values.mean():+.2f} ± {error:.2f}"


def _place(result: RunResult) -> Place:
    configuration = result.configuration
    return str(configuration["arm"]), configuration.get("omega_rate"), float(configuration["factor"])


def _table(runs: Runs, title: str, cell: Callable[[Runs, Place], str]) -> Table:
    factors = sorted({factor for _, _, factor in runs})
    order = list(ARMS)
    arms = sorted({(arm, rate) for arm, rate, _ in runs}, key=lambda one: (one[1] or 0.0, order.index(one[0])))
    rows = []
    for arm, rate in arms:
        cells = [cell(runs, (arm, rate, factor)) for factor in factors]
        name = arm if rate is None else f"{arm}, Omega's rate x{rate:g}"
        rows += [[name, *cells]] if any(cells) else []
    return Table(title, ["network", *(f"x{factor:g}" for factor in factors)], rows)


def _values(result: RunResult) -> np.ndarray:
    return np.array([value for one in result.details["values"].values() for value in one], dtype=float)


def _mean(runs: Runs, place: Place) -> str:
    result = runs.get(place)
    return f"{_values(result).mean():.2f} ({float(result.details['rate']):g})" if result else ""


def _difference(runs: Runs, place: Place) -> str:
    result, base = runs.get(place), runs.get((FROZEN, None, place[2]))
    if place[0] == FROZEN or result is None or base is None:
        return ""
    gain = _values(result) - _values(base)
    return f"{mean_and_error(gain)} ({(gain > 0).sum()} of {len(gain)})"
