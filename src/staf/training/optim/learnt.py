"""Gradient descent with a learnt rate for each parameter, which a field of a learnt start brings along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn


class LearntRates:
    """A rate for each entry of each parameter, by the parameter's name; copies of a field share them.

    A field has them as `field.learnt_rates`. They are not weights, and are not saved with it.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = {name: tensor.detach() for name, tensor in tensors.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @classmethod
    def of(cls, field: nn.Module) -> LearntRates:
        """Those of a field, or of the fields of a stack."""
        found = getattr(getattr(field, "template", field), "learnt_rates", None)
        if not isinstance(found, LearntRates):
            raise ValueError("optimiser 'learnt' needs a field of a learnt start: staf.learn_start makes one")
        return found


class LearntDescent(torch.optim.Optimizer):
    """theta <- theta - m r * g, with the learnt rates r of each parameter and one multiplier m, a device tensor."""

    def __init__(self, parameters: Iterable[Tensor], rates: Iterable[Tensor], multiplier: Tensor) -> None:
        members = list(parameters)
        super().__init__(members, {})
        self.members, self.multiplier = members, multiplier
        self.rates = [rate.to(parameter.device) for rate, parameter in zip(rates, members, strict=True)]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter, rate in zip(self.members, self.rates, strict=True):
            if parameter.grad is not None:
                # The networks of a stack share the rates.
                parameter.sub_(self.multiplier * rate * parameter.grad)
