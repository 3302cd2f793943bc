"""The compiled CPU kernels of the sine series, for float32; shapes and formulas are those of `loop`.

One set of many terms goes by a table of its function (`table`); everything else goes term by term. The angle is reduced
from the exact product of frequency and x, so for large angles the result is closer to float64 than the float32 formula
is. Sums over points do not depend on the number of threads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops import native
from staf.ops.sine_series import table
from staf.ops.sine_series.loop import Five, Four


def value(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series itself."""
    if _of_many_terms(amplitude):
        each = zip(x, amplitude[:, 0], frequency[:, 0], phase[:, 0], strict=True)
        return _stacked([value_of_one_set(*network) for network in each])
    x = x.contiguous()
    out = torch.empty_like(x)
    _call("staf_series_value", [x, *_by_term(amplitude, frequency, phase), out], amplitude)
    return out


def value_of_one_set(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series with parameters (terms,) and x of any shape: the same bits as `value`, without making views."""
    knots = table.knots_for(x, len(amplitude), frequency)
    if knots is not None:
        places = knots.places
        slopes = _slopes(places, amplitude, frequency, phase)
        return table.value(x, _terms_of_one_set(places, amplitude, frequency, phase), slopes, knots)
    return _terms_of_one_set(x, amplitude, frequency, phase)


def _terms_of_one_set(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    given = [tensor.contiguous() for tensor in (x, amplitude, frequency, phase)]
    out = torch.empty_like(given[0])
    size, terms = x.numel(), amplitude.shape[0]
    addresses = [tensor.data_ptr() for tensor in (*given, out)]
    kernels = native.library(required=True)
    assert kernels is not None
    if kernels.staf_series_value(*addresses, 1, size, 1, 1, terms, native.thread_count(size * terms)):
        raise MemoryError(f"sine_series could not allocate {terms} terms")
    return out


def gradients(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase."""
    if _of_many_terms(amplitude):
        each = zip(grad, x, amplitude[:, 0], frequency[:, 0], phase[:, 0], strict=True)
        found = zip(*(_gradients_of_one_set(*network) for network in each), strict=True)
        in_x, *sums = (_stacked(list(tensors)) for tensors in found)
        return in_x, sums[0][:, None], sums[1][:, None], sums[2][:, None]
    return _gradients_by_term(grad, x, amplitude, frequency, phase)


def _gradients_of_one_set(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    knots = table.knots_for(x, len(amplitude), frequency)
    if knots is None:
        in_x, *sums = _gradients_by_term(grad[None], x[None], *(p[None, None] for p in (amplitude, frequency, phase)))
        return in_x[0], sums[0][0, 0], sums[1][0, 0], sums[2][0, 0]
    places = knots.places
    slopes = _slopes(places, amplitude, frequency, phase)
    bends = _terms_of_one_set(places, -amplitude * frequency.square(), frequency, phase)
    in_x, at_knots = table.gradients(grad, x, slopes, bends, knots)
    first, second_, third = table.parameter_sums(at_knots, amplitude, frequency, phase, knots)
    return in_x, first, second_, third


def _slopes(places: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The derivative of the series at some places."""
    x = places[None, :, None]
    return _gradients_by_term(torch.ones_like(x), x, *(p[None, None] for p in (amplitude, frequency, phase)))[
        0
    ].flatten()


def _of_many_terms(amplitude: Tensor) -> bool:
    """Whether networks are computed one by one, each perhaps by a table."""
    return amplitude.shape[1] == 1 and amplitude.shape[2] >= table.TERMS


def _stacked(tensors: list[Tensor]) -> Tensor:
    return tensors[0][None] if len(tensors) == 1 else torch.stack(tensors)


def _gradients_by_term(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    grad, x = grad.contiguous(), x.contiguous()
    in_x = torch.empty_like(x)
    parameters = _by_term(amplitude, frequency, phase)
    sums = [torch.empty_like(parameter) for parameter in parameters]
    _call("staf_series_gradients", [grad, x, *parameters, in_x, *sums], amplitude)
    first, second_, third = (total.transpose(1, 2) for total in sums)
    return in_x, first, second_, third


def second(
    grad: Tensor,
    x: Tensor,
    amplitude: Tensor,
    frequency: Tensor,
    phase: Tensor,
    x_tangent: Tensor,
    amplitude_tangent: Tensor,
    frequency_tangent: Tensor,
    phase_tangent: Tensor,
) -> Five:
    """Gradients of the pairing of `gradients` with the four tangents, in grad, x, amplitude, frequency and phase."""
    grad, x, x_tangent = grad.contiguous(), x.contiguous(), x_tangent.contiguous()
    in_grad, in_x = torch.empty_like(x), torch.empty_like(x)
    parameters = _by_term(amplitude, frequency, phase)
    tangents = _by_term(amplitude_tangent, frequency_tangent, phase_tangent)
    sums = [torch.empty_like(parameter) for parameter in parameters]
    arguments = [grad, x, *parameters, x_tangent, *tangents, in_grad, in_x, *sums]
    _call("staf_series_second", arguments, amplitude)
    first, second_, third = (total.transpose(1, 2) for total in sums)
    return in_grad, in_x, first, second_, third


def _by_term(*parameters: Tensor) -> list[Tensor]:
    return [parameter.transpose(1, 2).contiguous() for parameter in parameters]


def _call(function: str, tensors: list[Tensor], amplitude: Tensor) -> None:
    x = tensors[-1] if function == "staf_series_value" else tensors[1]
    _, columns, terms = amplitude.shape
    threads = native.thread_count(x.numel() * terms)
    addresses = [tensor.data_ptr() for tensor in tensors]
    failed = getattr(native.library(required=True), function)(*addresses, *x.shape, columns, terms, threads)
    if failed:
        raise MemoryError(f"sine_series could not allocate the parameter sums for x of shape {tuple(x.shape)}")
