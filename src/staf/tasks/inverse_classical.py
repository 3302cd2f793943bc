"""Classical methods for inverse problems: one for every operator, and special ones for masks, blur and rays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from staf._extras import need
from staf._typing import Bool, Float
from staf.operators import (
    BeamIntegrals,
    Composed,
    GaussianBlur,
    Gradient,
    Laplacian,
    LinearOperator,
    Mask,
    MaskedFourier,
    RayIntegrals,
)
from staf.tasks.choice import Candidate
from staf.tasks.filling import filled
from staf.tasks.inverse import InverseProblem
from staf.tasks.learned_filling import filled_by_network
from staf.tasks.left_out import left_out
from staf.tasks.patch_methods import filled_by_patches, patches_serve
from staf.tasks.poisson import least_squares
from staf.tasks.solvers import accelerated
from staf.tasks.tomography_classical import SART_WEIGHTS, WINDOWS, filtered_backprojection, sart
from staf.tasks.wavelets import WAVELET_WEIGHTS, wavelet_l1

# Of total variation, in units of the value range, for an operator of norm 1.
WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1)
BALANCES = (1e-4, 1e-3, 1e-2, 1e-1)
ITERATIONS = 25

# operator (any of the classes that a method is for), observation (c, *out), places that may be seen (*out), strength.
Solve = Callable[[Any, Tensor, Tensor, float], Tensor]


@dataclass(frozen=True)
class Method:
    """A classical method: its solver, the strengths that held-out observations choose from, and what it is for.

    A method without a strength has one of 0, which its solver ignores.

    `any_device` is whether it runs on the device of the task's tensors; others run on the CPU.
    """

    solve: Solve
    strengths: Sequence[float]
    serves: Callable[[LinearOperator], bool]
    any_device: bool = False


def total_variation(operator: LinearOperator, observation: Tensor, seen: Bool[Tensor, "*out"], weight: float) -> Tensor:
    """The minimiser of |A u - y|^2 / 2 + weight ||A||^2 TV(u) over the observations that are seen, by FISTA.

    >>> seen = torch.ones(6, dtype=torch.bool)
    >>> total_variation(Mask(seen), torch.ones(1, 6), seen, 1e-3).round(decimals=3)
    tensor([[1., 1., 1., 1., 1., 1.]])
    """
    from skimage.restoration import denoise_tv_chambolle

    rate = 1 / squared_norm(operator)

    def step(v: Tensor) -> Tensor:
        gradient = operator.A_adjoint((operator.A(v) - observation) * seen)
        moved = (v - rate * gradient).numpy()
        after = denoise_tv_chambolle(moved, weight=weight, max_num_iter=10, channel_axis=0)
        return torch.from_numpy(after).to(observation.dtype)

    return accelerated(start(operator, observation, seen), step, ITERATIONS)


def start(operator: LinearOperator, observation: Tensor, seen: Tensor) -> Tensor:
    """What the adjoint makes of the observations, over what it makes of ones; a mask's picture filled in."""
    if isinstance(operator, Mask):
        return biharmonic(operator, observation, seen, 0.0)
    shape = operator.input_shape
    if isinstance(operator, MaskedFourier):
        return operator.A_adjoint(observation * seen)
    share = operator.A_adjoint(operator.A(observation.new_ones(1, *shape)) * seen)
    return operator.A_adjoint(observation * seen) / share.abs().clamp(min=1e-3 * float(share.abs().max()))


def known_places(operator: Mask, seen: Tensor) -> Bool[Tensor, "*shape"]:
    """Where on its grid a mask's observations are that may be seen."""
    return operator.A_adjoint(seen.float()).bool()


def biharmonic(operator: Mask, observation: Tensor, seen: Tensor, strength: float) -> Tensor:
    """Missing samples that make the Laplacian least."""
    known = known_places(operator, seen)
    return filled(operator.A_adjoint(observation), known)


def linear(operator: Mask, observation: Tensor, seen: Tensor, strength: float) -> Tensor:
    """Missing samples from the triangles of known ones around them, the nearest known one beyond.

    Where known samples make no triangle (fewer than three, or all on a slanted line), the nearest one is taken.

    >>> line = torch.tensor([[True, False, True], [True, False, True]])
    >>> values = torch.tensor([[0.0, 2.0, 4.0, 6.0]])
    >>> linear(Mask(line), values, torch.ones(4, dtype=torch.bool), 0.0)[0]
    tensor([[0., 1., 2.],
            [4., 5., 6.]])
    """
    griddata = need("image", "scipy.interpolate").griddata
    from scipy.spatial import QhullError

    known = known_places(operator, seen)
    at, values = known.nonzero().numpy(), operator.A_adjoint(observation)[:, known].T.numpy()
    everywhere = torch.ones(known.shape, dtype=torch.bool).nonzero().numpy()
    near = found = griddata(at, values, everywhere, "nearest")
    # Along a single line, the other axis would leave no triangle.
    wide = np.ptp(at, axis=0) > 0
    if wide.any():
        with contextlib.suppress(QhullError):
            found = griddata(at[:, wide], values, everywhere[:, wide], "linear").reshape(near.shape)
    joined = torch.from_numpy(found).where(torch.from_numpy(found).isfinite(), torch.from_numpy(near))
    return joined.T.reshape(-1, *known.shape).to(observation.dtype)


def patch_groups(operator: Mask, observation: Tensor, seen: Tensor, strength: float) -> Tensor:
    """Missing samples by what is known of similar patches, beginning with the learned ones."""
    known = known_places(operator, seen)
    return filled_by_patches(operator.A_adjoint(observation), known)


def learned_filling(operator: Mask, observation: Tensor, seen: Tensor, strength: float) -> Tensor:
    """Missing samples by a network that was trained on other photos."""
    known = known_places(operator, seen)
    return filled_by_network(operator.A_adjoint(observation), known)


def wiener(operator: GaussianBlur, observation: Tensor, seen: Tensor, balance: float) -> Tensor:
    """Wiener-Hunt deconvolution with a Laplacian prior; observations that are not seen are filled in first."""
    from skimage.restoration import wiener as deconvolved

    image = observation if bool(seen.all()) else filled(observation, seen)
    kernel = operator.kernel
    spread = torch.outer(kernel, kernel).numpy()
    # The edges are mirrored, as the operator's are, so that nothing comes around from the other side.
    edge = min(operator.reach, *(size - 1 for size in operator.input_shape))
    planes = []
    for plane in image.double():
        wide = torch.nn.functional.pad(plane[None, None], (edge,) * 4, mode="reflect")[0, 0]
        done = deconvolved(wide.numpy(), spread, balance, clip=False)
        planes.append(torch.from_numpy(done)[edge : edge + plane.shape[0], edge : edge + plane.shape[1]])
    return torch.stack(planes).to(observation.dtype)


def zero_filled(operator: MaskedFourier, observation: Tensor, seen: Tensor, strength: float) -> Tensor:
    """Only the adjoint: frequencies that were not measured are zero."""
    return operator.A_adjoint(observation * seen)


def wavelets(operator: MaskedFourier, observation: Tensor, seen: Tensor, weight: float) -> Tensor:
    """Sparse wavelet coefficients, starting from the zero-filled image."""
    first = operator.A_adjoint(observation * seen)
    return wavelet_l1(operator, observation, seen, weight, start=first, squared_norm=squared_norm(operator))


def differential(operator: LinearOperator) -> bool:
    """Whether an operator takes differences: it is solved as well as it can be, and blur is not its problem."""
    parts = operator.operators if isinstance(operator, Composed) else (operator,)
    return any(isinstance(part, (Gradient, Laplacian)) for part in parts)


def narrow(operator: GaussianBlur) -> bool:
    """Whether a blur is of images, and narrower than they are: a wider one leaves no edge to mirror.

    >>> narrow(GaussianBlur((8, 8), 1.0)), narrow(GaussianBlur((8, 8), 20.0))
    (True, False)
    """
    return len(operator.input_shape) == 2 and operator.reach < min(operator.input_shape)


# The first of those that serve an operator is returned in doubt. Total variation was better than Wiener in 21 of 24
# cases (four photos, blurs of 1 and 2.5 pixels, three levels of noise), and than wavelets in four of four.
METHODS: dict[str, Method] = {
    "biharmonic": Method(biharmonic, (0.0,), lambda operator: isinstance(operator, Mask)),
    "linear": Method(linear, (0.0,), lambda operator: isinstance(operator, Mask) and len(operator.input_shape) == 2),
    "learned filling": Method(
        learned_filling, (0.0,), lambda operator: isinstance(operator, Mask) and len(operator.input_shape) == 2
    ),
    "patch groups": Method(
        patch_groups, (0.0,), lambda operator: isinstance(operator, Mask) and patches_serve(operator.input_shape)
    ),
    "SART with total variation": Method(
        sart, SART_WEIGHTS, lambda operator: isinstance(operator, RayIntegrals), any_device=True
    ),
    "filtered backprojection": Method(
        filtered_backprojection, WINDOWS, lambda operator: isinstance(operator, BeamIntegrals), any_device=True
    ),
    "least squares": Method(least_squares, (0.0,), differential),
    "total variation": Method(
        total_variation,
        WEIGHTS,
        lambda operator: not isinstance(operator, RayIntegrals) and not differential(operator),
    ),
    "Wiener": Method(wiener, BALANCES, lambda operator: isinstance(operator, GaussianBlur) and narrow(operator)),
    "wavelet-L1": Method(wavelets, WAVELET_WEIGHTS, lambda operator: isinstance(operator, MaskedFourier)),
    "zero-filled": Method(zero_filled, (0.0,), lambda operator: isinstance(operator, MaskedFourier)),
}


def inverse_candidates(task: InverseProblem, methods: Sequence[str] | None = None) -> dict[str, Candidate]:
    """Each classical method for the task's operator, or those that are named, tuned by held-out observations.

    Where none are held out, the middle strength is taken. Errors and predictions are those at `left_out`.
    """
    on_cpu: LinearOperator = task.operator.to("cpu") if hasattr(task.operator, "to") else task.operator
    observation, held = task.observation.cpu(), task.held_out_index.cpu()
    parts = left_out(task)
    results = {}
    for name, method in METHODS.items():
        if not method.serves(on_cpu) or (methods is not None and name not in methods):
            continue
        operator = task.operator if method.any_device else on_cpu
        given = task.observation if method.any_device else observation
        strength, errors, predicted = method.strengths[len(method.strengths) // 2], observation.new_zeros(0), None
        if len(held):
            tried = {tries: _without(task, method, operator, held, tries) for tries in method.strengths}
            wanted = task.judged(observation).flatten(1)[:, torch.cat(parts)].T
            strength = min(tried, key=lambda tries: float((tried[tries] - wanted[: len(held)]).square().mean()))
            others = [_without(task, method, operator, part, strength) for part in parts[1:]]
            predicted = torch.cat([tried[strength], *others])
            errors = (predicted - wanted).square().mean(-1)
        everything = torch.ones(operator.output_shape, dtype=torch.bool, device=given.device)
        restored = task.completed(method.solve(operator, given, everything, strength).cpu())
        results[name] = Candidate(task.transform.clamp(restored).flatten(1).T, errors, predicted)
    return results


def _without(
    task: InverseProblem, method: Method, operator: LinearOperator, part: Tensor, strength: float
) -> Float[Tensor, "m c"]:
    """What a method that does not see a part of the observation predicts there, as it is judged."""
    seen = torch.ones(operator.output_shape, dtype=torch.bool)
    seen.view(-1)[part] = False
    given = task.observation if method.any_device else task.observation.cpu()
    solved = method.solve(operator, given, seen.to(given.device), strength)
    return task.judged(operator.A(solved)).cpu().flatten(1)[:, part].T


def squared_norm(operator: LinearOperator) -> float:
    """The largest eigenvalue of A_adjoint A, a little overestimated.

    >>> round(squared_norm(Mask(torch.tensor([True, False, True]))), 2)
    1.05
    """
    x = torch.rand(operator.input_shape, generator=torch.Generator().manual_seed(0)) + 0.1
    size = x.new_zeros(())
    for _ in range(20):
        x = operator.A_adjoint(operator.A(x / x.norm()))
        size = x.norm()
    return 1.05 * float(size)
