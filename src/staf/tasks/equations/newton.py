"""Levenberg-Marquardt: the second-order finish of an equation's fit, with the exact Jacobian of all residuals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from staf._typing import Float
from staf.nn.derivatives import FieldLike
from staf.ops.backend import backend

if TYPE_CHECKING:
    from staf.tasks.equations.equation import Equation
    from staf.training.progress import Shown
    from staf.training.state import State

# Entries of the Jacobian, residuals times parameters: 1 GiB in float64.
MOST_ENTRIES = 2**27
# Numbers in the copies of the parameters that are held at once while it is computed.
COPIED = 2**22
DAMPING = 1e-3
# How far along a step the residuals are looked at again, to see how they bend.
PROBE = 0.1
# A correction for the bend is used where it is shorter than this share of the step.
LONGEST_BEND = 0.75
# Times that the damping grows in search of a step that makes the loss less.
TRIES = 15


def levenberg_marquardt(
    equation: Equation, field: nn.Module, steps: int, watch: Callable[[int, float], None] | None = None
) -> list[float]:
    """Minimise the equation's loss |r|^2 over the parameters of `field`, in place; the loss before and after each step.

    A step solves (J'J + λ) d = -J'r, J the derivatives of all residuals r with respect to all parameters. It is bent
    to where the residuals bend: d + a/2 with (J'J + λ) a = -J'r'', r'' the second derivative of r along d. λ falls
    where the loss falls as predicted, and grows until it falls at all. It ends early where no step makes it less.

    Args:
        equation: in float64; its fixed points are all used in every step.
        field: a network of real parameters, best small: J has (points of all conditions) x parameters entries.
        watch: called with the number of steps and the loss.

    >>> import staf
    >>> from staf.tasks.equations import Equation, initial
    >>> decay = Equation([(0, 1)], lambda u, x: u.d(0) + u.value, [initial(1.0)], points=24, dtype=torch.float64)
    >>> field = staf.siren(1, 1, width=8, depth=2, omega0=2.0, generator=torch.Generator().manual_seed(2)).double()
    >>> losses = levenberg_marquardt(decay, field, 25)
    >>> losses[-1] < 1e-3 * losses[0]
    True
    """
    system = System(equation, field)
    place, damping, growth = system.place(), DAMPING, 2.0
    with backend("reference"):
        residuals = system.residuals(place)
        losses = [float(residuals @ residuals)]
        for number in range(steps):
            jacobian = system.jacobian(place)
            bare = _Damped(jacobian)
            for _ in range(TRIES):
                step = bare.solve(residuals, damping)
                if step is not None:
                    along = jacobian @ step
                    bend = 2 / PROBE * ((system.residuals(place + PROBE * step) - residuals) / PROBE - along)
                    turn = bare.solve(bend, damping)
                    bent = turn is not None and bool(turn.norm() < LONGEST_BEND * step.norm())
                    trial = place + step + turn / 2 if bent and turn is not None else place + step
                    found = system.residuals(trial)
                    loss = float(found @ found)
                    if loss < losses[-1]:
                        # What the residuals would be if they were straight lines.
                        gain = (losses[-1] - loss) / float(residuals @ residuals - (residuals + along).square().sum())
                        damping = max(damping * min(2.0, max(0.1, 1 - (2 * gain - 1) ** 3)), 1e-18)
                        place, residuals, growth = trial, found, 2.0
                        losses.append(loss)
                        break
                damping, growth = damping * growth, 2 * growth
            else:
                break
            if watch is not None:
                watch(number + 1, losses[-1])
        system.put(place)
    return losses


class System:
    """The residuals of an equation and its conditions at all points, as a function of all parameters of a field.

    Their squares add up to the equation's loss.
    """

    def __init__(self, equation: Equation, field: nn.Module) -> None:
        self.equation, self.field = equation, field
        self.parameters = {name: p for name, p in field.named_parameters() if p.requires_grad}
        if any(p.dtype != torch.float64 for p in self.parameters.values()) or equation.dtype != torch.float64:
            raise ValueError("Levenberg-Marquardt needs real numbers in float64: dtype=torch.float64, field.double()")
        self.count = sum(p.numel() for p in self.parameters.values())
        rows = equation.coordinates.shape[0] * equation.points
        if rows * self.count > MOST_ENTRIES:
            raise ValueError(
                f"Levenberg-Marquardt needs {rows:,} residuals x {self.count:,} parameters in memory, more than "
                f"{MOST_ENTRIES:,}: take fewer points or a smaller network, or newton_steps=0"
            )

    def place(self) -> Float[Tensor, " p"]:
        """All parameters in a row."""
        return torch.cat([p.detach().reshape(-1) for p in self.parameters.values()])

    def put(self, place: Float[Tensor, " p"]) -> None:
        """Make these the parameters of the field."""
        with torch.no_grad():
            for name, values in self._named(place).items():
                self.parameters[name].copy_(values)

    def residuals(self, place: Float[Tensor, " p"]) -> Float[Tensor, " r"]:
        """All residuals for these parameters."""
        named = self._named(place)
        parts = self.equation.residual_parts(lambda x: functional_call(self.field, named, (x,)))
        return torch.cat([part.detach().flatten() for part in parts])

    def jacobian(self, place: Float[Tensor, " p"]) -> Float[Tensor, "r p"]:
        """Their derivatives with respect to each parameter: each point has parameters of its own, all the same."""
        size = max(1, COPIED // self.count)
        rows: list[list[Tensor]] = [[] for _ in self.equation.coordinates]
        for first in range(0, self.equation.points, size):
            which = slice(first, first + size)
            copies = place.expand(len(self.equation.coordinates[0, which]), -1)
            copies = copies.clone().requires_grad_()
            parts = self.equation.residual_parts(self._each_with(copies), which)
            for kept, part in zip(rows, parts, strict=True):
                slopes = [
                    torch.autograd.grad(column.sum(), copies, retain_graph=True, materialize_grads=True)[0]
                    for column in part.unbind(1)
                ]
                kept.append(torch.stack(slopes, 1).flatten(0, 1))
        return torch.cat([part for kept in rows for part in kept])

    def _each_with(self, copies: Float[Tensor, "n p"]) -> FieldLike:
        def one(own: Tensor, x: Tensor) -> Tensor:
            return functional_call(self.field, self._named(own), (x[None],))[0]

        return lambda x: vmap(one)(copies, x)

    def _named(self, place: Tensor) -> dict[str, Tensor]:
        parts = place.split([p.numel() for p in self.parameters.values()])
        return {name: part.reshape(p.shape) for (name, p), part in zip(self.parameters.items(), parts, strict=True)}


class _Damped:
    """(J'J + λ) d = -J'r for several λ and r, solved in the smaller of J's two dimensions."""

    def __init__(self, jacobian: Float[Tensor, "r p"]) -> None:
        self.jacobian = jacobian
        self.wide = jacobian.shape[0] < jacobian.shape[1]
        self.products = jacobian @ jacobian.T if self.wide else jacobian.T @ jacobian

    def solve(self, residuals: Float[Tensor, " r"], damping: float) -> Float[Tensor, " p"] | None:
        """The step d; None where rounding leaves no solution."""
        damped = self.products.clone()
        damped.diagonal().add_(damping)
        factor, failed = torch.linalg.cholesky_ex(damped)
        if int(failed):
            return None
        if self.wide:
            return -(self.jacobian.T @ torch.cholesky_solve(residuals[:, None], factor))[:, 0]
        return -torch.cholesky_solve((self.jacobian.T @ residuals)[:, None], factor)[:, 0]


class NewtonFinish:
    """A callback that ends a fit with steps of Levenberg-Marquardt."""

    def __init__(self, equation: Equation, steps: int) -> None:
        self.equation, self.steps = equation, steps
        self.bar: Shown | None = None

    def __call__(self, state: State) -> None:
        pass

    def shown_by(self, bar: Shown) -> None:
        """Where to show how far it is."""
        self.bar = bar

    def finish(self, module: nn.Module) -> str:
        began = time.monotonic()

        def watch(step: int, loss: float) -> None:
            if self.bar is not None:
                psnr = -10 * math.log10(loss) if loss > 0 else math.inf
                self.bar.update(step, loss, psnr, time.monotonic() - began, step / self.steps)

        losses = levenberg_marquardt(self.equation, module, self.steps, watch)
        return f"{len(losses) - 1} steps of Levenberg-Marquardt took the loss from {losses[0]:.2e} to {losses[-1]:.2e}"
