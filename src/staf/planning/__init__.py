"""Plans: which network to train, and how, for a signal, a budget and a machine."""

from __future__ import annotations

from staf.planning import plans, recipes
from staf.planning.plans import Budget, Plan, plan

__all__ = ["Budget", "Plan", "plan", "plans", "recipes"]
