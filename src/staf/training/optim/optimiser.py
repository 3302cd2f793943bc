"""The optimisers of one fit: Adam, Muon or SOAP on matrices, Adam for tables, or learnt rates; one multiplier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from staf.nn import parameter_roles
from staf.training.optim.learnt import LearntDescent, LearntRates
from staf.training.optim.muon import Muon
from staf.training.optim.soap import Soap
from staf.training.recipe import Recipe

ACTIVATION_ROLES = ("amplitude", "frequency", "phase")
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
MUON_STATE = ("momentum_buffer",)
# Of a table's rows a step sees some, and their gradients are as small as one point's share in the mean loss: epsilon is
# far below Adam's usual 1e-8, and the second moment forgets faster. Rows without a gradient are moved too: leaving them
# alone saves no time on an H200, and costs 0.5 dB with 2^21 entries (benchmarks/results/hash-grid-h200-2026-11-16.txt).
TABLE_BETAS, TABLE_EPSILON = (0.9, 0.99), 1e-15
SOAP_STATE = (*ADAM_STATE, "left", "left_basis", "right", "right_basis")


class Optimiser:
    """Adam, Muon and SOAP over a field's roles, or gradient descent with learnt rates.

    Muon trains the hidden matrices; SOAP also the first and the last layer's, with Adam's rate, and complex ones. The
    tables of hash grids have an Adam of their own. The parameters of a stack of networks (`stacked`) have a leading
    axis. Rates are device tensors, read from one row of a table each step, so that a captured graph follows the
    schedule; frozen activations get rate zero, which leaves them exactly as they are.
    """

    def __init__(
        self, field: nn.Module, recipe: Recipe, roles: dict[str, str] | None = None, stacked: bool = False
    ) -> None:
        roles = roles if roles is not None else parameter_roles(field)
        trainable = {name: parameter for name, parameter in field.named_parameters() if parameter.requires_grad}
        if not trainable:
            raise ValueError("the field has no trainable parameters")
        self.names = list(trainable)
        self.parameters = list(trainable.values())
        device = self.parameters[0].device
        self.optimisers: list[torch.optim.Optimizer] = []
        if recipe.optimiser == "learnt":
            rates = LearntRates.of(field).tensors
            self.base_rates = {"learnt": recipe.rate}
            self._rates = torch.tensor([recipe.rate], device=device)
            # A stack names its parameters with slashes.
            own = [rates[name.replace("/", ".")] for name in self.names]
            self.optimisers.append(LearntDescent(self.parameters, own, self._rates[0]))
            return
        factors = {role: getattr(recipe, f"{role}_rate") for role in ACTIVATION_ROLES}
        groups: dict[str, list[Tensor]] = {}
        for name, parameter in trainable.items():
            groups.setdefault(_group(roles[name], parameter, recipe.optimiser, stacked), []).append(parameter)
        edges, matrices, tables = (groups.pop(name, []) for name in ("edge", "matrix", "table"))
        self.base_rates = {role: recipe.rate * factors.get(role, 1.0) for role in groups}
        if edges:
            self.base_rates["edge"] = recipe.rate
        if matrices:
            self.base_rates["matrix"] = recipe.matrix_rate
        if tables:
            self.base_rates["table"] = recipe.table_rate
        # The groups read their rates from one vector, which a step overwrites in one copy.
        self._rates = torch.tensor(list(self.base_rates.values()), device=device)
        if groups:
            self.optimisers.append(_adam(list(groups.values()), self._rates))
        rated = dict(zip(self.base_rates, self._rates, strict=True))
        if recipe.optimiser == "soap" and (edges or matrices):
            parts = {"edge": edges, "matrix": matrices}
            self.optimisers.append(
                Soap([{"params": part, "lr": rated[role]} for role, part in parts.items() if part], lr=recipe.rate)
            )
        elif matrices:
            self.optimisers.append(Muon(matrices, lr=rated["matrix"], momentum=recipe.momentum))
        if tables:
            options = {"lr": rated["table"], "fused": True, "capturable": self._rates.is_cuda}
            options["weight_decay"] = recipe.table_decay
            self.optimisers.append(torch.optim.Adam(tables, betas=TABLE_BETAS, eps=TABLE_EPSILON, **options))

    def rates(self, multiplier: float, freeze_activations: bool = False) -> list[float]:
        """The rate of each group when the schedule is at `multiplier`."""
        return [
            0.0 if freeze_activations and role in ACTIVATION_ROLES else base * multiplier
            for role, base in self.base_rates.items()
        ]

    @property
    def current_rates(self) -> Tensor:
        """One rate for each group, on the device; a step reads them there."""
        return self._rates

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
        """Restore what `tensors` gave; the state of each parameter is there whole or not at all."""
        owner = {
            id(parameter): optimiser
            for optimiser in self.optimisers
            for group in optimiser.param_groups
            for parameter in group["params"]
        }
        for name, parameter in zip(self.names, self.parameters, strict=True):
            state = owner[id(parameter)].state[parameter]
            keys = _state_names(owner[id(parameter)], state)
            present = [key for key in keys if f"{name}:{key}" in tensors]
            if len(present) not in (0, len(keys)):
                raise ValueError(f"the optimiser's state of {name} lacks {', '.join(set(keys) - set(present))}")
            for key in present:
                # Adam that is not fused keeps its step counter on the CPU.
                on_cpu = key == "step" and parameter.device.type == "cpu"
                value = tensors[f"{name}:{key}"].to("cpu" if on_cpu else parameter.device)
                scalar = key == "step" and value.shape == () and value.is_floating_point()
                like = state.get(key, parameter)
                if not scalar and (value.shape, value.dtype) != (like.shape, like.dtype):
                    raise ValueError(f"the optimiser's {key} of {name} is {value.dtype} of shape {tuple(value.shape)}")
                if key in state:
                    state[key].copy_(value)
                else:
                    state[key] = value


def _group(role: str, parameter: Tensor, optimiser: str, stacked: bool) -> str:
    """Which group trains a parameter: its role, `matrix`, `edge` (the other matrices, SOAP's) or `other`."""
    is_matrix = parameter.ndim - stacked == 2
    if optimiser == "soap" and is_matrix and role in ("matrix", "other"):
        hidden = role == "matrix" or (parameter.is_complex() and parameter.shape[-1] == parameter.shape[-2])
        return "matrix" if hidden else "edge"
    if role == "matrix" and (optimiser == "adam" or parameter.is_complex()):
        return "other"
    return role


def _state_names(optimiser: torch.optim.Optimizer, state: dict[str, Tensor]) -> tuple[str, ...]:
    """What a checkpoint holds of a parameter; a side too long for a covariance has none."""
    if isinstance(optimiser, LearntDescent):
        return ()
    if isinstance(optimiser, Soap):
        return tuple(name for name in SOAP_STATE if name in state)
    return MUON_STATE if isinstance(optimiser, Muon) else ADAM_STATE


def _adam(groups: list[list[Tensor]], rates: Tensor) -> torch.optim.Optimizer:
    """Adam whose groups read their rates from the first entries of a device vector."""
    members = [parameter for group in groups for parameter in group]
    if rates.is_cuda and all(parameter.dtype in (torch.float32, torch.complex64) for parameter in members):
        from staf.training.optim.adam import FlatAdam

        return FlatAdam(groups, rates)
    return torch.optim.Adam(
        [{"params": group, "lr": rate} for group, rate in zip(groups, rates, strict=False)],
        lr=rates[0],
        fused=not any(parameter.is_complex() for parameter in members),
        capturable=rates.is_cuda,
    )
