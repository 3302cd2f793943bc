"""Activations as the code of a signal: one meta-learnt network, and a few numbers for each picture.

The weights are shared and learnt so that a code found by a few gradient steps from zero fits a new picture (as COIN++
does it, with learnt step sizes). What the code changes is the arm:

    shifts           sin(omega0 (W z + b) + B a): COIN++, a map B from the code a to a shift of every neuron
    sines by a map   (1 + dC) sin(omega0 (1 + dOmega) (W z + b) + dPhi), all three of every neuron by a map
    sines of layers  sum_i C_i sin(Omega_i (W z + b) + Phi_i) with the code itself as C, Omega, Phi of every layer

All have codes of equal length, and widths such that the shared parameters are equally many.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

DEPTH = 4
INNER = 3
OMEGA0 = 30.0
MAPPED = {"shifts": 1, "sines by a map": 3, "sines of layers": 0}
KINDS = tuple(MAPPED)
# First step sizes of the inner loop, which are learnt from there.
STEP = {"shifts": 10.0, "sines by a map": 10.0, "sines of layers": 0.01}
# The logarithms of the step sizes learn faster than the weights.
STEP_RATE = 10.0
Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class CodeSpec:
    """A kind of code, its length, and the network's width."""

    kind: str
    length: int
    width: int

    @property
    def terms(self) -> int:
        """Sinusoids of a layer where the code is their C, Omega and Phi."""
        return self.length // (3 * DEPTH)

    @property
    def shared(self) -> int:
        """Parameters that all pictures share, without the step sizes (as many as the code is long).

        >>> CodeSpec("shifts", 60, 32).shared
        11043
        """
        w = self.width
        return 3 * w + (DEPTH - 1) * w * (w + 1) + 3 * (w + 1) + MAPPED[self.kind] * DEPTH * w * self.length


def spec_of(kind: str, length: int, width: int, *, as_wide: bool = False) -> CodeSpec:
    """The kind at this width if `as_wide`, or else with about as many shared parameters as `shifts` at this width.

    >>> [spec_of(kind, 60, 64).width for kind in KINDS]
    [64, 34, 96]
    """
    if as_wide:
        return CodeSpec(kind, length, width)
    wanted = CodeSpec("shifts", length, width).shared
    return min((CodeSpec(kind, length, w) for w in range(4, 4 * width)), key=lambda spec: abs(spec.shared - wanted))


def start(spec: CodeSpec, seed: int, step: float = 1.0) -> Parameters:
    """Fresh shared parameters: SIREN's weights, a small map, and the step size of every entry of the code."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int, bound: float) -> Tensor:
        return (2 * torch.rand(*shape, generator=generator) - 1) * bound

    w, found = spec.width, {}
    for layer in range(DEPTH + 1):
        inputs, outputs = (2 if layer == 0 else w), (3 if layer == DEPTH else w)
        bound = 1 / inputs if layer == 0 else math.sqrt(6 / inputs) / OMEGA0
        found[f"weight{layer}"] = uniform(outputs, inputs, bound=bound)
        found[f"bias{layer}"] = uniform(outputs, bound=1 / math.sqrt(inputs))
    if MAPPED[spec.kind]:
        rows = MAPPED[spec.kind] * DEPTH * w
        found["map"] = uniform(rows, spec.length, bound=1 / spec.length)
    else:
        # One sine with faint others, as STAF starts: the code is added to this.
        sines = torch.zeros(DEPTH, 3, spec.terms)
        sines[:, 0, 0] = 1
        sines[:, 0, 1:] = uniform(DEPTH, spec.terms - 1, bound=0.1)
        sines[:, 1] = torch.linspace(1, 0.2, spec.terms)
        sines[:, 2] = uniform(DEPTH, spec.terms, bound=math.pi)
        sines[:, 2, 0] = 0
        found["sines"] = sines
    found["step"] = torch.full((spec.length,), math.log(step * STEP[spec.kind]))
    return found


def values(spec: CodeSpec, shared: Parameters, code: Tensor, points: Tensor) -> Tensor:
    """The picture of a code (length,) at points (n, 2): (n, 3)."""
    z, sines = points, None
    if MAPPED[spec.kind]:
        changes = (shared["map"] @ code).reshape(DEPTH, MAPPED[spec.kind], spec.width)
    else:
        sines = shared["sines"] + code.reshape(DEPTH, 3, spec.terms)
    for layer in range(DEPTH):
        a = OMEGA0 * (z @ shared[f"weight{layer}"].T + shared[f"bias{layer}"])
        if sines is not None:
            c, omega, phi = sines[layer]
            z = (c * torch.sin(torch.addcmul(phi, a[..., None], omega))).sum(-1)
        elif MAPPED[spec.kind] == 1:
            z = torch.sin(a + changes[layer, 0])
        else:
            z = (1 + changes[layer, 0]) * torch.sin((1 + changes[layer, 1]) * a + changes[layer, 2])
    return z @ shared[f"weight{DEPTH}"].T + shared[f"bias{DEPTH}"] + 0.5


def picture_loss(spec: CodeSpec, shared: Parameters, code: Tensor, points: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of one picture."""
    return (values(spec, shared, code, points) - target).square().mean()


def inner_code(
    spec: CodeSpec, shared: Parameters, points: Tensor, target: Tensor, *, first_order: bool = False
) -> Tensor:
    """The code of a picture after a few gradient steps from zero, differentiable in the shared parameters.

    With `first_order` the inner gradients are constants to the outer ones, which takes a third of the time.
    """
    gradient = torch.func.grad(partial(picture_loss, spec), argnums=1)
    code = torch.zeros(spec.length, device=points.device)
    for _ in range(INNER):
        slope = gradient(shared, code, points, target)
        code = code - shared["step"].exp() * (slope.detach() if first_order else slope)
    return code


def meta_loss(spec: CodeSpec, shared: Parameters, points: Tensor, targets: Tensor, *, first_order: bool) -> Tensor:
    """The mean loss of pictures (b, n, 3), each with the code of its own inner loop."""

    def one(target: Tensor) -> Tensor:
        code = inner_code(spec, shared, points, target, first_order=first_order)
        return picture_loss(spec, shared, code, points, target)

    return torch.vmap(one)(targets).mean()


def meta_learn(
    spec: CodeSpec,
    targets: Tensor,
    points: Tensor,
    *,
    steps: int,
    rate: float,
    batch: int,
    seeds: Sequence[int],
    step: float = 1.0,
    first_order: bool = False,
    pixels: int | None = None,
) -> Parameters:
    """Shared parameters for each of the seeds, stacked (seeds, ...), learnt from pictures (N, n, 3) by Adam.

    A step sees `pixels` of the points, other ones each time; all of them if not given.
    """
    device = points.device
    drawn = [start(spec, seed, step) for seed in seeds]
    shared = {name: torch.stack([one[name] for one in drawn]).to(device).requires_grad_() for name in drawn[0]}
    # Rates are tensors, so that a captured step reads them.
    groups = [
        {"params": [shared[name] for name in shared if name != "step"], "lr": torch.tensor(rate, device=device)},
        {"params": [shared["step"]], "lr": torch.tensor(STEP_RATE * rate, device=device)},
    ]
    starts = [float(group["lr"]) for group in groups]  # type: ignore[arg-type]
    optimiser = torch.optim.Adam(groups, capturable=device.type == "cuda")
    generator = torch.Generator().manual_seed(0)
    seen = min(pixels or len(points), len(points))
    places, chosen = points[:seen].clone(), targets[:batch, :seen].clone()

    def update() -> None:
        optimiser.zero_grad(set_to_none=False)
        torch.vmap(lambda own: meta_loss(spec, own, places, chosen, first_order=first_order))(shared).sum().backward()
        # The inner loop differentiates twice; one bad batch must not end a seed.
        for tensor in shared.values():
            assert tensor.grad is not None
            tensor.grad.nan_to_num_(0, 0, 0).clamp_(-1, 1)
        optimiser.step()

    replay = _captured(update) if device.type == "cuda" else update
    for number in range(steps):
        for first, group in zip(starts, optimiser.param_groups, strict=True):
            group["lr"].fill_(first * 0.5 * (1 + math.cos(math.pi * number / steps)))
        index = torch.randperm(len(targets), generator=generator)[: len(chosen)].to(device)
        at = torch.randperm(len(points), generator=generator)[:seen].to(device)
        places.copy_(points[at])
        chosen.copy_(targets[index[:, None], at])
        replay()
    return {name: tensor.detach() for name, tensor in shared.items()}


def encoded_psnr(
    spec: CodeSpec, shared: Parameters, targets: Tensor, points: Tensor, *, steps: int, rate: float
) -> tuple[Tensor, Tensor]:
    """PSNR (seeds, N) of new pictures whose code alone is fitted: after the inner loop, and after `steps` of Adam."""
    over_pictures = partial(torch.vmap, in_dims=(None, 0))
    both = torch.vmap(over_pictures(lambda own, target: inner_code(spec, own, points, target)), in_dims=(0, None))
    codes = both(shared, targets).detach().requires_grad_()
    losses = torch.vmap(
        torch.vmap(lambda own, code, target: picture_loss(spec, own, code, points, target), in_dims=(None, 0, 0)),
        in_dims=(0, 0, None),
    )
    optimiser = torch.optim.Adam([codes], lr=rate)
    first = best = losses(shared, codes, targets).detach()
    for _ in range(steps):
        optimiser.zero_grad()
        found = losses(shared, codes, targets)
        best = torch.minimum(best, found.detach())
        found.sum().backward()
        optimiser.step()
    return -10 * torch.log10(first), -10 * torch.log10(best)


def _captured(step: Callable[[], None]) -> Callable[[], None]:
    """The step as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as error:
        warnings.warn(f"the step is not captured and takes longer: {error}", stacklevel=2)
        return step
    return graph.replay
