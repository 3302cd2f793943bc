"""Differential equations: a field that satisfies one inside a box, and conditions on its faces."""

from __future__ import annotations

from staf.tasks.equations.conditions import Condition, boundary, initial, initial_rate, walls
from staf.tasks.equations.equation import Equation
from staf.tasks.equations.jet import Jet
from staf.tasks.equations.known import Burgers, Heat, Helmholtz, Poisson, Wave
from staf.tasks.equations.newton import levenberg_marquardt

__all__ = [
    "Burgers",
    "Condition",
    "Equation",
    "Heat",
    "Helmholtz",
    "Jet",
    "Poisson",
    "Wave",
    "boundary",
    "initial",
    "initial_rate",
    "levenberg_marquardt",
    "walls",
]
