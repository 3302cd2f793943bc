"""Quantised weights with float sinusoids: what is left of a fit at a given number of bits a weight.

Weight matrices are rounded to 2^bits - 1 levels, symmetric about 0, with a scale of their own each; biases, C, Omega
and Phi stay in float32 and may be trained on for a few steps. Bytes count all of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from staf.training.task import Task

BITS = (4, 6, 8)
REFINED = 100


def quantise(weight: Tensor, bits: int) -> Tensor:
    """The nearest of 2^bits - 1 even levels between -max|w| and max|w|.

    >>> quantise(torch.tensor([-1.0, 0.1, 0.6]), 2).tolist()
    [-1.0, 0.0, 1.0]
    """
    top = 2 ** (bits - 1) - 1
    scale = weight.abs().max().clamp_min(1e-12) / top
    return (weight / scale).round() * scale


def quantised(field: nn.Module, bits: int) -> nn.Module:
    """A copy with quantised matrices, which are not trained any more."""
    found = copy.deepcopy(field)
    with torch.no_grad():
        for layer in _linears(found):
            layer.weight.copy_(quantise(layer.weight, bits))
            layer.weight.requires_grad_(False)
    return found


def stored_bytes(field: nn.Module, bits: int) -> int:
    """Bytes of a quantised field: packed matrices, their scales, and everything else in float32.

    >>> from staf.nn import siren
    >>> stored_bytes(siren(2, 1, width=8, depth=2), 4)
    124
    """
    matrices = [layer.weight for layer in _linears(field)]
    packed = sum(-(-weight.numel() * bits // 8) for weight in matrices)
    others = sum(p.numel() for p in field.parameters()) - sum(weight.numel() for weight in matrices)
    return packed + 4 * (others + len(matrices))


def psnr_of(fields: Sequence[nn.Module], tasks: Sequence[Task], device: str) -> list[float]:
    """The PSNR of each field on its task, one fresh pass, clamped."""
    found = []
    for field, task in zip(fields, tasks, strict=True):
        field.to(device)
        batch = task.to(device).batch(None)
        with torch.no_grad():
            error = (field(batch.coordinates).clamp(0, 1) - batch.target).square().mean()
        found.append(float(-10 * torch.log10(error)))
    return found


def refined(field: nn.Module, task: Task, steps: int, device: str, rate: float = 1e-3) -> nn.Module:
    """Train what is still float (biases, C, Omega, Phi) for a few steps of Adam, by a cosine to zero."""
    if steps == 0:
        return field
    field.to(device)
    batch = task.to(device).batch(None)
    optimiser = torch.optim.Adam([p for p in field.parameters() if p.requires_grad], lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        (field(batch.coordinates) - batch.target).square().mean().backward()
        optimiser.step()
        schedule.step()
    return field


def _linears(field: nn.Module) -> list[nn.Linear]:
    return [module for module in field.modules() if isinstance(module, nn.Linear)]
