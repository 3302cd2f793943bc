"""The protocols of linear operators."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class LinearOperator(Protocol):
    """A linear map with its adjoint: <A x, y> = <x, A_adjoint y> for all x and y.

    One test checks this for every operator of this package; add a new operator to its list. An operator that contains
    tensors also has `to(device)`, which returns the operator on this device.
    """

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]

    def A(self, x: Tensor) -> Tensor:
        """(..., *input_shape) to (..., *output_shape)."""
        ...

    def A_adjoint(self, y: Tensor) -> Tensor:
        """(..., *output_shape) to (..., *input_shape)."""
        ...


@runtime_checkable
class SampleMeans(LinearOperator, Protocol):
    """A linear operator for which each observation is the mean of k samples, so that only these are evaluated."""

    def samples_of(self, index: Tensor) -> Tensor:
        """The flat indices (k, n) of the samples behind the observations `index` (n,), both in C order."""
        ...


def checked(name: str, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`tensor` as it is, if its last axes are `shape`.

    >>> import torch
    >>> checked("x", torch.zeros(3, 2), (4,))
    Traceback (most recent call last):
    ValueError: x must end in the axes (4,), got shape (3, 2)
    """
    if tuple(tensor.shape[tensor.dim() - len(shape) :]) != shape or tensor.dim() < len(shape):
        raise ValueError(f"{name} must end in the axes {shape}, got shape {tuple(tensor.shape)}")
    return tensor


def checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A grid's shape: at least one axis, each of at least one sample."""
    sizes = tuple(int(size) for size in shape)
    if not sizes or min(sizes) < 1:
        raise ValueError(f"shape must have at least one axis and no empty ones, got {tuple(shape)}")
    return sizes
