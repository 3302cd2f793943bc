"""SOAP: Adam in the slowly turning eigenbasis of the gradient's row and column covariances, for batches of matrices.

Vyas et al., "SOAP: Improving and Stabilizing Shampoo using Adam" (2024). The published form refreshes the eigenbasis by
a QR factorisation every ten steps, which a captured graph cannot hold and which a GPU does slowly. Here the basis is
turned a little at every step, by matrix products alone: see `turn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from staf.ops.backend import has_triton
from staf.ops.linear.beside import side_by_side

BETAS = (0.95, 0.9)
COVARIANCE_BETA = 0.95
EPSILON = 1e-8
# A side longer than this keeps its own axes: its covariance would outgrow the network.
LARGEST = 1024
# Sides of up to this many rows share one stack of padded matrices, so that they cost one set of launches.
SMALLEST = 4
# How far a basis may turn in one step (a bound on the sine of the angle).
TURN = 0.5
# A CPU feels the products, and bases turn slowly: there they follow every fourth step.
CPU_EVERY = 4


def turn(covariance: Tensor, basis: Tensor) -> Tensor:
    """Turn each unitary basis Q in (..., n, n) towards the eigenvectors of its Hermitian covariance P.

    With M = Q^H P Q, first-order perturbation theory says that column j of Q should move by sum_i q_i K_ij with
    K_ij = M_ij / (M_jj - M_ii). K is damped where the two eigenvalues are closer than M_ij, its size is bounded, and
    two Newton-Schulz iterations bring Q (I + K) back to a unitary matrix. A diagonal M leaves Q as it is.

    >>> covariance = torch.tensor([[2.0, 1.0], [1.0, 5.0]])
    >>> basis = torch.eye(2)
    >>> for _ in range(10):
    ...     basis = turn(covariance, basis)
    >>> rotated = basis.T @ covariance @ basis
    >>> bool(rotated[0, 1].abs() < 1e-5)
    True
    """
    rotated = basis.mH @ covariance @ basis
    eigenvalues = rotated.diagonal(dim1=-2, dim2=-1).real
    gap = eigenvalues.unsqueeze(-2) - eigenvalues.unsqueeze(-1)
    noise = 1e-7 * eigenvalues.abs().amax(-1)[..., None, None] + torch.finfo(basis.dtype).tiny
    # gap / (gap^2 + M^2 + noise^2), written so that small covariances do not underflow when squared.
    size = torch.maximum(torch.maximum(gap.abs(), rotated.abs()), noise)
    gap, off, noise = gap / size, rotated / size, noise / size
    generator = off * gap / (gap.square() + off.abs().square() + noise.square())
    generator = 0.5 * (generator - generator.mH)
    length = torch.minimum(generator.abs().sum(-1).amax(-1), generator.abs().square().sum((-2, -1)).sqrt())
    generator = generator * (TURN / length.clamp(min=TURN))[..., None, None]
    return _turned_by(generator, basis)


def _turned_by(generator: Tensor, basis: Tensor) -> Tensor:
    """The unitary matrix next to basis (I + generator)."""
    turned = _added(basis, basis, generator)
    for _ in range(2):
        turned = _added(turned, turned, turned.mH @ turned, beta=1.5, alpha=-0.5)
    return turned


def _added(total: Tensor, a: Tensor, b: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta total + alpha a b for matrices (..., n, n), in one launch."""
    if total.dim() == 2:
        return torch.addmm(total, a, b, beta=beta, alpha=alpha)
    flat = (tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (total, a, b))
    return torch.baddbmm(*flat, beta=beta, alpha=alpha).view_as(total)


@dataclass
class _Block:
    """Parameters of one shape and group, with slices of the stacks that hold their sides' covariances and bases."""

    parameters: list[Tensor]
    group: dict[str, Any]
    shape: tuple[int, int]
    mean: Tensor
    square: Tensor
    left: Tensor | None
    left_basis: Tensor | None
    right: Tensor | None
    right_basis: Tensor | None


class Soap(torch.optim.Optimizer):
    """Adam on Ql^H G Qr, where Ql and Qr follow the eigenvectors of the running means of G G^H and G^H G.

    Parameters have shape (..., m, n), real or complex; leading axes are independent matrices. `lr` of a group can be a
    device tensor, so that a captured graph reads the rate of each step. The whole state is allocated at the start.

    >>> weight = torch.nn.Parameter(torch.eye(3))
    >>> weight.grad = torch.ones(3, 3)
    >>> Soap([{"params": [weight]}], lr=0.1).step()
    >>> bool((weight != torch.eye(3)).all())
    True
    """

    def __init__(self, params: Sequence[Any], lr: float | Tensor = 1e-3) -> None:
        super().__init__(params, {"lr": lr})
        self._blocks: list[_Block] = []
        self._stacks: dict[tuple[int, torch.dtype], tuple[Tensor, Tensor]] = {}
        first = self.param_groups[0]["params"][0]
        self._count = torch.zeros((), device=first.device)
        self._every = CPU_EVERY if first.device.type == "cpu" else 1
        shaped: dict[tuple[int, tuple[int, int], torch.dtype], list[Tensor]] = {}
        for index, group in enumerate(self.param_groups):
            for parameter in group["params"]:
                if parameter.ndim < 2:
                    raise ValueError(f"SOAP takes matrices, got shape {tuple(parameter.shape)}; give vectors to Adam")
                m, n = parameter.shape[-2:]
                shaped.setdefault((index, (m, n), parameter.dtype), []).append(parameter)
        self._make_stacks(shaped)

    def _make_stacks(self, shaped: dict[tuple[int, tuple[int, int], torch.dtype], list[Tensor]]) -> None:
        counts: dict[tuple[int, torch.dtype], int] = {}
        places = []
        for (index, shape, dtype), parameters in shaped.items():
            matrices = sum(parameter.numel() for parameter in parameters) // (shape[0] * shape[1])
            starts = []
            for side in shape:
                key = (max(side, SMALLEST), dtype)
                starts.append((key, counts.get(key, 0)))
                if side <= LARGEST:
                    counts[key] = counts.get(key, 0) + matrices
            places.append((index, shape, dtype, parameters, matrices, starts))
        device = self._count.device
        for (side, dtype), count in counts.items():
            eye = torch.eye(side, device=device, dtype=dtype)
            self._stacks[side, dtype] = (
                torch.zeros(count, side, side, device=device, dtype=dtype),
                eye.repeat(count, 1, 1),
            )
        for index, shape, dtype, parameters, matrices, starts in places:
            sides: list[Tensor | None] = []
            for side, (key, start) in zip(shape, starts, strict=True):
                for stack in self._stacks[key] if side <= LARGEST else (None, None):
                    sides.append(None if stack is None else stack[start : start + matrices, :side, :side])
            mean = torch.zeros(matrices, *shape, device=device, dtype=dtype)
            square = torch.zeros_like(mean.real)
            group = self.param_groups[index]
            self._blocks.append(_Block(parameters, group, shape, mean, square, *sides))
            start = 0
            for parameter in parameters:
                count = parameter.numel() // (shape[0] * shape[1])
                rows = slice(start, start + count)
                # The state is views, so that checkpoints read and restore it by parameter.
                self.state[parameter] = {"step": self._count, "exp_avg": mean[rows], "exp_avg_sq": square[rows]}
                names = ("left", "left_basis", "right", "right_basis")
                held = zip(names, sides, strict=True)
                self.state[parameter] |= {name: stack[rows] for name, stack in held if stack is not None}
                start += count

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self._count.add_(1)
        both = [self._gather(block) for block in self._blocks]
        turning = self._every == 1 or int(self._count) % self._every == 1
        stacks = list(self._stacks.values()) if turning else []

        def move() -> None:
            for block, given in zip(self._blocks, both, strict=True):
                self._move(block, given)

        # Bases turn while the old ones are in use.
        _, turned = side_by_side(
            move,
            lambda: [self._turned(covariance, basis) for covariance, basis in stacks],
            fork=True,
        )
        for (_, basis), new in zip(stacks, turned, strict=True):
            basis.copy_(new)

    def _gather(self, block: _Block) -> Tensor:
        """The gradient and its running mean, (matrices, m, 2, n); covariances follow the gradient."""
        gradients = [_gradient(parameter).reshape(-1, *block.shape) for parameter in block.parameters]
        if self._is_fused(block):
            both = soap_kernels().gathered(gradients, block.mean, 1 - BETAS[0])
        else:
            gradient = torch.cat(gradients)
            both = torch.stack([gradient, block.mean.lerp_(gradient, 1 - BETAS[0])], dim=2)
        gradient, new = both[:, :, 0], 1 - COVARIANCE_BETA
        if block.left is not None:
            block.left.baddbmm_(gradient, gradient.mH, beta=COVARIANCE_BETA, alpha=new)
        if block.right is not None:
            block.right.baddbmm_(gradient.mH, gradient, beta=COVARIANCE_BETA, alpha=new)
        return both

    def _move(self, block: _Block, both: Tensor) -> None:
        """Adam's step in the rotated basis."""
        rotated, rate = _rotate(both, block), block.group["lr"]
        if self._is_fused(block):
            direction = soap_kernels().scaled(rotated, block.square, self._count, rate, BETAS, EPSILON)
            soap_kernels().subtract(block.parameters, _rotate_back(direction, block))
            return
        mean_correction = 1 - BETAS[0] ** self._count
        square_correction = 1 - BETAS[1] ** self._count
        block.square.lerp_(rotated[:, :, 0].abs().square_(), 1 - BETAS[1])
        scale = (block.square / square_correction).sqrt_().add_(EPSILON)
        direction = _rotate_back(rotated[:, :, 1] / scale, block) * (rate / mean_correction)
        start = 0
        for parameter in block.parameters:
            count = parameter.numel() // (block.shape[0] * block.shape[1])
            parameter.sub_(direction[start : start + count].view_as(parameter))
            start += count

    def _turned(self, covariance: Tensor, basis: Tensor) -> Tensor:
        if not _has_kernels(basis):
            return turn(covariance, basis)
        side = basis.shape[-1]
        if side & (side - 1) == 0 and side <= soap_kernels().SMALL:
            return soap_kernels().turned_small(covariance, basis, TURN)
        return _turned_by(soap_kernels().generator(basis.mT @ covariance @ basis, TURN), basis)

    def _is_fused(self, block: _Block) -> bool:
        """Whether a launch can update all parameters of a block."""
        sizes = {parameter.numel() for parameter in block.parameters}
        return (
            _has_kernels(block.mean)
            and isinstance(block.group["lr"], Tensor)
            and len(sizes) == 1
            and len(block.parameters) <= soap_kernels().TOGETHER
            and all(parameter.is_contiguous() for parameter in block.parameters)
        )


def soap_kernels() -> ModuleType:
    """The CUDA kernels, which need the package triton."""
    from staf.training.optim import soap_triton

    return soap_triton


def _has_kernels(tensor: Tensor) -> bool:
    return tensor.is_cuda and tensor.dtype == torch.float32 and has_triton()


def _gradient(parameter: Tensor) -> Tensor:
    return parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)


def _rotate(both: Tensor, block: _Block) -> Tensor:
    """Two matrices of each parameter, side by side in (matrices, m, 2, n), so that a product takes them together."""
    shape = both.shape
    if block.left_basis is not None:
        both = (block.left_basis.mH @ both.flatten(2)).view(shape)
    return both if block.right_basis is None else (both.flatten(1, 2) @ block.right_basis).view(shape)


def _rotate_back(matrices: Tensor, block: _Block) -> Tensor:
    if block.left_basis is not None:
        matrices = block.left_basis @ matrices
    return matrices if block.right_basis is None else matrices @ block.right_basis.mH
