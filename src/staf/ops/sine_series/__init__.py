"""`sine_series`: the sum of sinusoids that every trainable activation of this library computes."""

from __future__ import annotations

from torch import Tensor

from staf._typing import Float
from staf.ops.backend import choose, have_memory, is_traced, note, values_only
from staf.ops.checks import check_floating, promoted
from staf.ops.linear.precision import current_precision

__all__ = ["sine_series"]


def sine_series(
    x: Float[Tensor, "*points"],
    amplitude: Float[Tensor, "*set terms"],
    frequency: Float[Tensor, "*set terms"],
    phase: Float[Tensor, "*set terms"],
) -> Float[Tensor, "*points"]:
    """rho(x) = sum_i amplitude_i sin(frequency_i x + phase_i), applied to every element of `x`.

    The three parameters have the same shape, and its number of dimensions says how they are shared:

    | parameters | x | meaning |
    |---|---|---|
    | (terms,) | any shape | one set for all of x |
    | (width, terms) | (..., width) | one set per neuron |
    | (networks, 1, terms) | (networks, ..., width) | a batch of networks, one set each |
    | (networks, width, terms) | (networks, ..., width) | a batch of networks, one set per neuron |

    Gradients of every order in all four arguments, `torch.func` and batching with `torch.vmap` are supported; no
    temporary larger than `x` is made up to the second order. The result is the same, bit by bit, in every run.
    float32 and float64 are computed as they are; inside autocast a half-precision `x` is computed and returned in the
    parameters' dtype. Inside `product_precision("tf32")` one set of more than 8 terms on CUDA has sines with an error
    of 1e-5 instead of 1e-6, and so has its backward pass.

    >>> import torch
    >>> x = torch.linspace(-1, 1, 6).reshape(3, 2)
    >>> c, w, p = torch.tensor([1.0, 0.5]), torch.tensor([1.0, 2.0]), torch.zeros(2)
    >>> y = sine_series(x, c, w, p)
    >>> bool(torch.allclose(y, torch.sin(x) + 0.5 * torch.sin(2 * x), atol=1e-6))
    True
    """
    x = promoted(x, amplitude.dtype)
    _check(x, amplitude, frequency, phase)
    if amplitude.dim() == 1 and _runs_at_once(x, amplitude, frequency, phase):
        from staf.ops.sine_series import cpu

        note("sine_series", "compiled")
        return cpu.value_of_one_set(x, amplitude, frequency, phase)
    shape = x.shape
    batched = amplitude.dim() == 3
    networks = shape[0] if batched else 1
    width = shape[-1] if len(shape) > int(batched) else 1
    points = 1
    for size in shape[int(batched) : -1]:
        points *= size
    x = x.reshape(networks, points, width)
    sets = (networks, 1 if amplitude.dim() == 1 else amplitude.shape[-2], amplitude.shape[-1])
    parameters = (amplitude.reshape(sets), frequency.reshape(sets), phase.reshape(sets))
    return _dispatch(x, *parameters).reshape(shape)


def _runs_at_once(*tensors: Tensor) -> bool:
    """Whether nothing but the kernel's call is needed, which for a single point takes less time than views do."""
    return (
        not is_traced()
        and values_only(*tensors)
        and choose("sine_series", tensors[0]) == "compiled"
        and have_memory(tensors)
    )


def _dispatch(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    if is_traced():
        from staf.ops.sine_series import loop

        return loop.value(x, amplitude, frequency, phase)
    backend = choose("sine_series", x)
    if backend == "reference":
        from staf.ops.sine_series.reference import sine_series_reference

        note("sine_series", "reference")
        return sine_series_reference(x, amplitude, frequency, phase)
    from staf.ops.sine_series import autograd

    if backend == "triton" and current_precision() == "tf32":
        backend = "reduced"
    if values_only(x, amplitude, frequency, phase):
        return autograd.Value.forward(x, amplitude, frequency, phase, backend)
    return autograd.Value.apply(x, amplitude, frequency, phase, backend)


def _check(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> None:
    check_floating("x", x)
    dtype, device, shape = x.dtype, x.device, tuple(amplitude.shape)
    for name, tensor in (("amplitude", amplitude), ("frequency", frequency), ("phase", phase)):
        if tensor.dtype != dtype:
            raise TypeError(f"{name} must have the dtype of x, {dtype}, got {tensor.dtype}")
        if tensor.device != device:
            raise ValueError(f"{name} must be on the device of x, {device}, got {tensor.device}")
        if tensor.shape != shape:
            raise ValueError(f"{name} must have the shape of amplitude, {shape}, got {tuple(tensor.shape)}")
    if not 1 <= len(shape) <= 3 or shape[-1] < 1:
        raise ValueError(
            "amplitude must have shape (terms,), (width, terms), (networks, 1, terms) or (networks, width, terms) "
            f"with at least one term, got {shape}"
        )
    if len(shape) == 3 and (x.dim() < 2 or x.shape[0] != shape[0]):
        raise ValueError(f"x must have shape (networks, ..., width) with {shape[0]} networks, got {tuple(x.shape)}")
    if len(shape) == 3 and shape[1] not in (1, x.shape[-1]):
        raise ValueError(f"amplitude must have 1 or {x.shape[-1]} rows per network, as x is wide, got {shape}")
    if len(shape) == 2 and (x.dim() < 1 or x.shape[-1] != shape[0]):
        raise ValueError(f"x must have the last dimension {shape[0]}, the rows of amplitude, got {tuple(x.shape)}")
