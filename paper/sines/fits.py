"""Fits of one arm: the same search for every arm on the first signal, then all seeds on the others, together."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from paper.measures.step_times import clock
from paper.sines.arms import ARMS, Arm
from paper.sines.signals import Problem
from staf.ops.execution import Execution
from staf.training import Recipe, train
from staf.training.result import Result

RATES = (1e-3, 2e-3, 4e-3, 8e-3)
# Steps of the fit that a step's time is read from.
TIMED = 60
# Points of a step, of all networks that a CPU trains together: more do not stay in its caches, and a step of each
# network then takes up to twice as long.
CPU_POINTS = 4096


@dataclass(frozen=True)
class ArmFits:
    """What an arm reached: its networks and measures by signal and seed, and how its rate was found."""

    networks: list[nn.Module]
    values: dict[str, list[float]]
    measures: dict[str, list[dict[str, float]]]
    rate: float
    search: dict[str, float]
    steps: int
    parameters: int
    width: int

    @property
    def mean(self) -> float:
        """Mean over signals and seeds."""
        found = [value for values in self.values.values() for value in values]
        return sum(found) / len(found)


def recipe(problem: Problem, steps: int, rate: float, optimiser: str, omega_rate: float | None = None) -> Recipe:
    """The recipe of every arm: our schedule and rates of C, Omega and Phi for that optimiser.

    `omega_rate` is another multiple of the rate for Omega.
    """
    from staf.planning import recipes

    found = recipes.full_batch(steps=steps) if optimiser == "soap" else recipes.default(steps=steps)
    if omega_rate is not None:
        found = found.replace(frequency_rate=omega_rate)
    return found.replace(optimiser=optimiser, rate=rate, matrix_rate=rate, batch=problem.batch, precision="fp32")


def fit_arm(
    problem: Problem,
    arm: Arm,
    *,
    width: int,
    steps: int,
    seeds: Sequence[int],
    device: str,
    optimiser: str = "soap",
    rates: Sequence[float] = RATES,
    slower: float | None = None,
    omega_rate: float | None = None,
) -> ArmFits:
    """Search the rate on the first signal, then fit the others; every seed in both. One signal alone is both.

    An arm that is timed as another has `slower` times the steps, by measured times if that is not given.
    """
    own_steps = steps
    if arm.timed_as:
        if slower is None:
            own, other = (
                step_time(problem, one, width, min(steps, TIMED), optimiser, device)
                for one in (arm, ARMS[arm.timed_as])
            )
            slower = other / own
        own_steps = round(steps * max(1.0, slower))

    def fit(pairs: Sequence[tuple[int, int]], rate: float) -> list[Result]:
        return _train(problem, arm, pairs, width, recipe(problem, own_steps, rate, optimiser, omega_rate), device)

    alone = len(problem.tasks) == 1
    # All seeds: a rate at which one of them fails is no good rate.
    first = [(0, seed) for seed in seeds]
    tried = {rate: fit(first, rate) for rate in rates if len(rates) > 1 or alone}
    measure = problem.searched or problem.measure
    search = {f"{rate:g}": sum(one.metrics[measure] for one in some) / len(some) for rate, some in tried.items()}
    best = max(rates, key=lambda rate: search.get(f"{rate:g}", 0.0))
    if alone:
        found_all = list(zip(first, tried[best], strict=True))
    else:
        places = list(range(1, len(problem.tasks)))
        # Volumes have different sizes, and mini-batches of several signals need one.
        groups = [[place] for place in places] if problem.batch else [places]
        found_all = []
        for group in groups:
            pairs = [(place, seed) for place in group for seed in seeds]
            found_all += list(zip(pairs, fit(pairs, best), strict=True))
    values: dict[str, list[float]] = {}
    measures: dict[str, list[dict[str, float]]] = {}
    for (place, _), result in found_all:
        values.setdefault(problem.names[place], []).append(result.metrics[problem.measure])
        measures.setdefault(problem.names[place], []).append(dict(result.metrics))
    networks = [result.field for _, result in found_all]
    parameters = sum(p.numel() for p in networks[0].parameters())
    own_width = problem.width(arm, width)
    return ArmFits(networks, values, measures, best, search, own_steps, parameters, own_width)


def step_time(problem: Problem, arm: Arm, width: int, steps: int, optimiser: str, device: str) -> float:
    """Seconds of a step of one network on the first signal, from a short fit whose start is not counted."""
    short = recipe(problem, steps, RATES[0], optimiser)
    (result,) = _train(problem, arm, [(0, 0)], width, short, device)
    return clock(result.history.seconds).step


def _train(
    problem: Problem, arm: Arm, pairs: Sequence[tuple[int, int]], width: int, how: Recipe, device: str
) -> list[Result]:
    """A network for each pair of a signal's place and a seed, trained together, on a CPU as many as suit it."""
    tasks = [problem.tasks[place] for place, _ in pairs]
    if problem.stateful:
        tasks = [copy.deepcopy(task) for task in tasks]
    fields = [problem.fresh(arm, place, width, seed) for place, seed in pairs]
    where, size = torch.device(device), len(pairs)
    if where.type == "cpu":
        size = max(1, CPU_POINTS // (problem.batch or max(task.points for task in tasks)))
    found: list[Result] = []
    for at in range(0, len(pairs), size):
        group = slice(at, at + size)
        found += train(tasks[group], fields[group], how, execution=Execution(device=where), progress=False)
    return found
