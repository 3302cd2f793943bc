"""Equations whose solution is a sum of five waves: u'' = f on [-1, 1] with the values of u at both ends.

The first layers know the highest frequency alone, or all five: a frozen sine by the rows of its first matrix, five
sines by their Omega, so that every arm has in its first layer what it knows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn

from paper.sines.signals import InDecibels, Problem, Start
from staf.tasks.equations import Poisson

WAVES = 5
HIGHEST = 12.0


def equations(count: int, points: int, *, told: bool) -> Problem:
    """Poisson equations with solutions of their own; the measure is -20 log10 of the relative error."""
    drawn = [waves(number) for number in range(count)]
    tasks = [InDecibels(poisson(*one, points), "error_db", decibels) for one in drawn]
    starts = [start_of(one[0]) if told else _double for one in drawn]
    return Problem(
        tasks,
        [f"equation {number}" for number in range(count)],
        "error_db",
        constants={"omega0": HIGHEST, "hidden_omega0": 30.0},
        starts=starts,
    )


def waves(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequencies, amplitudes and phases of the solution of an equation, the highest frequency always the same."""
    rng = np.random.default_rng(number)
    frequency = np.append(rng.uniform(2, HIGHEST, WAVES - 1), HIGHEST)
    return frequency, rng.uniform(0.5, 1, WAVES), rng.uniform(-math.pi, math.pi, WAVES)


class Quiet(Poisson):
    """A Poisson equation whose residual is not measured after training, which takes as long as a short fit."""

    def callbacks(self) -> list[Any]:
        return []


def poisson(frequency: np.ndarray, amplitude: np.ndarray, phase: np.ndarray, points: int) -> Poisson:
    """The equation of a sum of waves.

    >>> poisson(*waves(0), 16).points
    16
    """
    omega, a, phi = (torch.from_numpy(part) for part in (frequency, amplitude, phase))

    def solution(x: torch.Tensor) -> torch.Tensor:
        return (a * torch.sin(omega * x + phi)).sum(-1, keepdim=True)

    def source(x: torch.Tensor) -> torch.Tensor:
        return -(omega.square() * a * torch.sin(omega * x + phi)).sum(-1, keepdim=True)

    return Quiet(source, solution, box=[(-1.0, 1.0)], solution=solution, points=points, dtype=torch.float64)


def start_of(frequency: np.ndarray) -> Start:
    """Put the known frequencies into the first layer: rows of a frozen sine or of one Omega, or five Omegas."""
    omega = torch.from_numpy(frequency)

    def start(field: nn.Module) -> None:
        field.double()
        first, sines = field.layers[0], field.activations[0]  # type: ignore[index]
        with torch.no_grad():
            weight = first.weight  # type: ignore[union-attr]
            if getattr(sines, "terms", 1) == WAVES:
                sines.frequency.copy_(omega.expand_as(sines.frequency))  # type: ignore[union-attr]
                sines.amplitude.fill_(1 / math.sqrt(WAVES))  # type: ignore[union-attr]
                weight.copy_(weight.sign())
            else:
                rows = omega.repeat(-(-len(weight) // WAVES))[: len(weight), None]  # type: ignore[arg-type]
                weight.copy_(weight.sign() * rows / HIGHEST)

    return start


def decibels(found: dict[str, float]) -> float:
    """-20 log10 of the relative error.

    >>> decibels({"relative_error": 0.01})
    40.0
    """
    return -20 * math.log10(max(found["relative_error"], 1e-12))


def _double(field: nn.Module) -> None:
    field.double()
