"""Whether a network has diverged, and the weights to restore."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor


class Divergence:
    """Keep the best weights of each network, and decide whether one has diverged.

    A network has diverged if its loss is not finite, or more than ten times its first value and more than one (the
    square of the peak), or more than a hundred times its best for `patience` steps (it recovers from short spikes). The
    weights after a step are judged by the next loss, so a copy is a candidate until then. Networks do not affect each
    other.

    `tensors()` returns the stored weights, each tensor with a leading axis of networks.
    """

    def __init__(self, tensors: Callable[[], list[Tensor]], networks: int, patience: int) -> None:
        self.tensors, self.patience = tensors, patience
        self.first = torch.full((networks,), math.nan, dtype=torch.float64)
        self.best = torch.full((networks,), math.inf, dtype=torch.float64)
        self.best_step = torch.zeros(networks, dtype=torch.long)
        self._watched = torch.ones(networks, dtype=torch.bool)
        self._kept = [tensor.detach().clone() for tensor in tensors()]
        self._candidate = [tensor.clone() for tensor in self._kept]

    def resume(self, first: float, best: float, best_step: int, weights: list[Tensor]) -> None:
        """Restore the state of the checkpoint of a single network."""
        self.first[0], self.best[0], self.best_step[0] = first, best, best_step
        for kept, saved, candidate, present in zip(self._kept, weights, self._candidate, self.tensors(), strict=True):
            kept.copy_(saved[None])
            candidate.copy_(present)

    def weights(self, network: int) -> list[Tensor]:
        """The best weights of a network, as `tensors()` lists them; later losses do not change them."""
        return [kept[network].clone() for kept in self._kept]

    def look(self, step: int, losses: Tensor) -> dict[int, str]:
        """Check the losses (steps, networks) from `step` on; return which networks have diverged, and how.

        A network is reported once, and not checked after that.
        """
        losses = losses.double()
        self._keep(step, losses[0])
        self.first = torch.where(self.first.isnan(), losses[0], self.first)
        bad = ~losses.isfinite() | (losses > (10 * self.first).clamp(min=1.0))
        last = step + len(losses) - 1
        high = (losses.amin(0) > 100 * self.best) & (last - self.best_step > self.patience)
        found = {}
        for network in torch.nonzero((bad.any(0) | high) & self._watched).flatten().tolist():
            column = losses[:, network]
            found[network] = self._reason(network, column[bad[:, network]].tolist(), column[-1].item())
            self._watched[network] = False
        return found

    def _keep(self, step: int, losses: Tensor) -> None:
        better = (losses <= self.best) & self._watched
        if better.all():
            self._kept, self._candidate = self._candidate, self._kept
        elif better.any():
            chosen = better.to(self._kept[0].device)
            for kept, candidate in zip(self._kept, self._candidate, strict=True):
                kept.copy_(torch.where(chosen.view(-1, *[1] * (kept.dim() - 1)), candidate, kept))
        self.best = torch.where(better, losses, self.best)
        self.best_step[better] = step
        torch._foreach_copy_(self._candidate, [tensor.detach() for tensor in self.tensors()])

    def _reason(self, network: int, bad: list[float], last: float) -> str:
        if not bad:
            best, step = self.best[network].item(), int(self.best_step[network])
            return f"the loss stayed near {last:.3g} after {best:.3g} at step {step}"
        if not math.isfinite(bad[0]):
            return f"the loss became {bad[0]}"
        return f"the loss rose from {self.first[network].item():.3g} to {bad[0]:.3g}"
