"""The optimisers of one fit: Adam, or Muon on hidden matrices with Adam on the rest, driven by one multiplier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..nn import parameter_roles
from .muon import Muon
from .recipe import Recipe

ACTIVATION_ROLES = ("amplitude", "frequency", "phase")


class Optimiser:
    """Adam and Muon over a field's roles.

    Rates are device tensors, read from one row of a table each step, so that a captured graph follows the schedule;
    frozen activations get rate zero, which leaves them exactly as they are.
    """

    def __init__(self, field: nn.Module, recipe: Recipe, roles: dict[str, str] | None = None) -> None:
        roles = roles if roles is not None else parameter_roles(field)
        trainable = {name: parameter for name, parameter in field.named_parameters() if parameter.requires_grad}
        if not trainable:
            raise ValueError("the field has no trainable parameters")
        self.names = list(trainable)
        self.parameters = list(trainable.values())
        device = self.parameters[0].device
        factors = {role: getattr(recipe, f"{role}_rate") for role in ACTIVATION_ROLES}
        groups: dict[str, list[Tensor]] = {}
        for name, parameter in trainable.items():
            role = roles[name]
            if role == "matrix" and (recipe.optimiser == "adam" or parameter.is_complex()):
                role = "other"
            groups.setdefault(role, []).append(parameter)
        self.base_rates: dict[str, float] = {}
        self.optimisers: list[torch.optim.Optimizer] = []
        matrices = groups.pop("matrix", [])
        if groups:
            fused = not any(p.is_complex() for members in groups.values() for p in members)
            adam = torch.optim.Adam(
                [{"params": members} for members in groups.values()],
                lr=torch.tensor(recipe.rate, device=device),
                fused=fused,
                capturable=device.type == "cuda",
            )
            self.optimisers.append(adam)
            self.base_rates = {role: recipe.rate * factors.get(role, 1.0) for role in groups}
        if matrices:
            self.optimisers.append(Muon(matrices))
            self.base_rates["matrix"] = recipe.matrix_rate
        # The groups read their rates from one vector, which a step overwrites in one copy.
        self._rates = torch.tensor(list(self.base_rates.values()), device=device)
        groups_in_order = [group for optimiser in self.optimisers for group in optimiser.param_groups]
        for group, rate in zip(groups_in_order, self._rates, strict=True):
            group["lr"] = rate

    def rates(self, multiplier: float, freeze_activations: bool = False) -> list[float]:
        """The rate of each group when the schedule stands at `multiplier`."""
        return [
            0.0 if freeze_activations and role in ACTIVATION_ROLES else base * multiplier
            for role, base in self.base_rates.items()
        ]

    def set_rates(self, rates: Tensor) -> None:
        """Copy one value per group, on the device."""
        self._rates.copy_(rates)

    def step(self) -> None:
        for optimiser in self.optimisers:
            optimiser.step()

    def zero_grad(self) -> None:
        """Forget gradients: the next backward writes them afresh, without a pass that clears them."""
        for parameter in self.parameters:
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The state by parameter name, for checkpoints."""
        out = {}
        for optimiser in self.optimisers:
            for name, parameter in zip(self.names, self.parameters, strict=True):
                for key, value in optimiser.state.get(parameter, {}).items():
                    out[f"{name}:{key}"] = value
        return out

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors` gave."""
        owner = {
            id(parameter): optimiser
            for optimiser in self.optimisers
            for group in optimiser.param_groups
            for parameter in group["params"]
        }
        for name, parameter in zip(self.names, self.parameters, strict=True):
            state = owner[id(parameter)].state[parameter]
            for key in ("step", "exp_avg", "exp_avg_sq", "momentum_buffer"):
                if f"{name}:{key}" in tensors:
                    # Adam that is not fused keeps its step counter on the CPU.
                    on_cpu = key == "step" and parameter.device.type == "cpu"
                    state[key] = tensors[f"{name}:{key}"].to("cpu" if on_cpu else parameter.device)
