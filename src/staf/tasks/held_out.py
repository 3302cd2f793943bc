"""Which observations of a task are held out, and how they are named in a field's file."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from staf._documents import Document


def drawn(shape: tuple[int, ...], held_out: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Which flat places of a grid are held out, and which are fitted; both in C order.

    Unless `held_out` is 0, at least one place is held out, and one is always fitted.

    >>> held, fitted = drawn((4, 5), 0.1, torch.Generator().manual_seed(0))
    >>> len(held), len(fitted)
    (2, 18)
    """
    check_share(held_out, "observations")
    total = torch.Size(shape).numel()
    held = min(total - 1, max(1, round(held_out * total))) if held_out else 0
    if not held:
        return torch.arange(0), torch.arange(total)
    generator = needed(generator, "what is held out")
    order = torch.randperm(total, generator=generator, device=generator.device).cpu()
    return order[:held].sort().values, order[held:].sort().values


def held_out_metadata(index: Tensor) -> Document:
    """Which observations are held out, as a hash: a fit is resumed only with the same ones."""
    if not len(index):
        return {}
    held = index.cpu().numpy()
    return {"held_out": {"observations": len(held), "sha256": hashlib.sha256(held.tobytes()).hexdigest()}}


def check_share(held_out: float, what: str) -> None:
    """Refuse a share of all observations, or more."""
    if not 0 <= held_out < 1:
        raise ValueError(f"held_out must be a share of the {what} in [0, 1), got {held_out}")


def needed(generator: torch.Generator | None, what: str) -> torch.Generator:
    """The generator that draws something; an error names what if there is none."""
    if generator is None:
        raise ValueError(f"generator must be given to draw {what}, got None")
    return generator
