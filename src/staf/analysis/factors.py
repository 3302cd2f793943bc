"""Gradients of linear layers in factored form, point by point.

For y = W a + b the gradient of a value f at one point is the outer product of g = df/dy and a. Two gradients then have
the inner product

    <grad_W f(x), grad_W f(x')> = (g . g') (a . a'),        <grad_b f(x), grad_b f(x')> = g . g',

so a kernel over n points needs the n x n products of short vectors and never the gradients themselves: with 256 wide
layers, 512 numbers per point instead of 65,536. Complex layers use torch's convention (a real parameter pair each):
Re[(g . conj g') (conj a . a')].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

PROBE_POINTS = 3


@dataclass(frozen=True)
class LinearPart:
    """A linear layer whose weight, bias or both are part of the kernel."""

    module: nn.Linear
    weight: bool
    bias: bool

    def parameters(self) -> list[Tensor]:
        """Those that are part of the kernel."""
        return [getattr(self.module, name) for name in ("weight", "bias") if getattr(self, name)]


@dataclass(frozen=True)
class Call:
    """One use of a layer: what it read, (n, in), and the gradients of every value by its output, (n, c, out)."""

    inputs: Tensor
    gradients: Tensor


def capture(field: nn.Module, parts: list[LinearPart], coordinates: Tensor) -> tuple[Tensor, list[list[Call]]]:
    """Values (n, c) and, for each layer, its calls. The field must treat every point by itself."""
    records: list[list[tuple[Tensor, Tensor]]] = [[] for _ in parts]
    with torch.enable_grad(), _probes(parts, records):
        values = field(coordinates)
        totals = values.sum(0).unbind()
    probes = [probe for calls in records for _, probe in calls]
    columns: list[list[Tensor]] = [[] for _ in probes]
    for channel, total in enumerate(totals if probes else ()):
        slopes = torch.autograd.grad(total, probes, retain_graph=channel + 1 < len(totals), allow_unused=True)
        for column, probe, slope in zip(columns, probes, slopes, strict=True):
            column.append(torch.zeros_like(probe) if slope is None else slope)
    stacked = iter(torch.stack(column, dim=1).detach() for column in columns)
    return values.detach(), [[Call(inputs, next(stacked)) for inputs, _ in calls] for calls in records]


def linear_parts(field: nn.Module, names: set[str], coordinates: Tensor) -> list[LinearPart]:
    """The linear layers whose selected parameters factor, found by trying.

    A layer is taken only if it reads one row per point and if its factors add up to what autograd says of a few
    points; that refuses weights that are tied, rescaled or read elsewhere, and layers that see no points.
    """
    candidates = []
    for prefix, module in field.named_modules():
        if isinstance(module, nn.Linear):
            dot = prefix + "." if prefix else ""
            part = LinearPart(module, f"{dot}weight" in names, f"{dot}bias" in names)
            if part.weight or part.bias:
                candidates.append(part)
    points = coordinates[:PROBE_POINTS]
    values, captured = capture(field, candidates, points)
    mix = torch.linspace(0.5, 1.5, values.numel(), dtype=values.dtype, device=values.device).reshape(values.shape)
    with torch.enable_grad():
        total = (field(points) * mix).sum()
    parameters = [p for part in candidates for p in part.parameters()]
    truth = iter(torch.autograd.grad(total, parameters, allow_unused=True) if parameters else ())
    accepted = []
    for part, calls in zip(candidates, captured, strict=True):
        expected = [next(truth) for _ in part.parameters()]
        if all(len(call.inputs) == len(points) and call.inputs.dim() == 2 for call in calls) and all(
            _same(have, want) for have, want in zip(_summed(part, calls, mix), expected, strict=True)
        ):
            accepted.append(part)
    return accepted


def _summed(part: LinearPart, calls: list[Call], mix: Tensor) -> list[Tensor]:
    """The gradient of sum(mix * values) that the factors stand for."""
    weight: Tensor = torch.zeros_like(part.module.weight)
    bias: Tensor = torch.zeros_like(part.module.weight[:, 0])
    for call in calls:
        slope = (mix[..., None] * call.gradients).sum(1)
        weight = weight + slope.T @ call.inputs.conj()
        bias = bias + slope.sum(0)
    return [tensor for tensor, wanted in ((weight, part.weight), (bias, part.bias)) if wanted]


def _same(have: Tensor, want: Tensor | None) -> bool:
    if want is None:
        return False
    tolerance = torch.finfo(want.dtype).eps ** 0.5
    return bool(torch.linalg.vector_norm(have - want) <= tolerance * torch.linalg.vector_norm(want))


@contextmanager
def _probes(parts: list[LinearPart], records: list[list[tuple[Tensor, Tensor]]]) -> Iterator[None]:
    """Add zeros to every layer's output, whose gradients are then the layer's, also where later code works in place."""

    def hook(calls: list[tuple[Tensor, Tensor]]) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], Tensor]:
        def add_probe(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
            probe = torch.zeros_like(output, requires_grad=True)
            calls.append((args[0].detach(), probe))
            return output + probe

        return add_probe

    handles = [part.module.register_forward_hook(hook(calls)) for part, calls in zip(parts, records, strict=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
