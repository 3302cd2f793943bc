"""A network's graph, from the module itself: each class of layer, activation and encoding describes its own formula."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import torch
from torch import nn

from staf.export import graph as g
from staf.export.describe_radiance import harmonics, radiance
from staf.export.describing import add_steps, array_of, describes
from staf.export.errors import ExportError
from staf.export.evaluate import evaluate
from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, GaussianEncoding, HashGridEncoding
from staf.nn.filter_network import FourierFilter, GaborFilter, MultiplicativeFilterNetwork
from staf.nn.gabor_network import Wire
from staf.nn.harmonised_network import Incode
from staf.nn.linear import CoordinateLinear, Linear
from staf.nn.networks.kan import ChebyshevKan, ChebyshevLayer
from staf.nn.radiance_field import RadianceField, SphericalHarmonics
from staf.nn.sine_series import SineSeries

describes(RadianceField)(radiance)
describes(SphericalHarmonics)(harmonics)


def describe(module: nn.Module) -> g.Graph:
    """The graph of a network with a closed form per point, checked against the module itself in float64.

    >>> import staf
    >>> graph = describe(staf.siren(2, 3, width=16, depth=2))
    >>> [type(step).__name__ for step in graph.steps]
    ['Dense', 'SineSeries', 'Dense', 'SineSeries', 'Dense']
    """
    with torch.no_grad():
        graph = _described(module)
        _check(module, graph)
    return graph


def _described(module: nn.Module) -> g.Graph:
    """The graph of a module, not compared with it."""
    inputs = getattr(module, "in_features", None)
    if not isinstance(inputs, int):
        raise ExportError(f"cannot export {type(module).__name__}: it has no in_features, the number of coordinates")
    graph = g.Graph(inputs)
    add_steps(module, graph, g.COORDINATES)
    return graph


def _check(module: nn.Module, graph: g.Graph) -> None:
    """Compare the graph with the module, both in float64, at points of the cube."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(16, graph.in_features, generator=generator, dtype=torch.float64) * 2 - 1
    twin = copy.deepcopy(module).cpu().double().eval()
    expected = twin(points).numpy()
    got = evaluate(_described(twin), points.numpy())
    if got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-6, atol=1e-6, equal_nan=True):
        worst = "another shape" if got.shape != expected.shape else f"{np.abs(got - expected).max():.3g}"
        raise ExportError(f"cannot export {type(module).__name__}: its values differ from its formula's by {worst}")


@describes(nn.Linear, Linear, CoordinateLinear)
def _linear(module: nn.Linear, graph: g.Graph, value: int) -> int:
    if module.weight.is_complex():
        raise ExportError("cannot export a complex linear layer outside of Wire")
    bias = np.zeros(module.out_features) if module.bias is None else array_of(module.bias)
    return graph.add(g.Dense(value, array_of(module.weight), bias))


@describes(nn.Sequential)
def _sequential(module: nn.Sequential, graph: g.Graph, value: int) -> int:
    for part in module:
        value = add_steps(part, graph, value)
    return value


@describes(nn.ReLU)
def _relu(module: nn.ReLU, graph: g.Graph, value: int) -> int:
    return graph.add(g.Relu(value))


def _sine(value: int, amplitude: float, frequency: float, phase: float, offset: float = 0.0) -> g.SineSeries:
    c, omega, phi = (np.array([[number]]) for number in (amplitude, frequency, phase))
    return g.SineSeries(value, c, omega, phi, offset)


@describes(Sine)
def _siren(module: Sine, graph: g.Graph, value: int) -> int:
    return graph.add(_sine(value, 1.0, module.omega0, 0.0))


@describes(SineSeries)
def _series(module: SineSeries, graph: g.Graph, value: int) -> int:
    c, omega, phi = (array_of(part).reshape(-1, module.terms) for part in module.sinusoids)
    return graph.add(g.SineSeries(value, c, omega, phi))


@describes(Finer)
def _finer(module: Finer, graph: g.Graph, value: int) -> int:
    return graph.add(g.Finer(value, module.omega0))


@describes(Gauss)
def _gauss(module: Gauss, graph: g.Graph, value: int) -> int:
    return graph.add(g.Gauss(value, module.sigma))


@describes(GaussianEncoding)
def _gaussian(module: GaussianEncoding, graph: g.Graph, value: int) -> int:
    # Multiplied in the module's own precision, as it does itself.
    return _sines_and_cosines(array_of(2 * math.pi * module.frequencies), graph, value)


def _sines_and_cosines(angles: g.Array, graph: g.Graph, value: int) -> int:
    """[sin(A x), cos(A x)] as sines with phases 0 and pi/2."""
    count = len(angles)
    dense = graph.add(g.Dense(value, np.concatenate([angles, angles]), np.zeros(2 * count)))
    one = np.ones((2 * count, 1))
    phase = np.repeat([[0.0], [math.pi / 2]], count, axis=0)
    return graph.add(g.SineSeries(dense, one, one, phase))


@describes(HashGridEncoding)
def _hash_grid(module: HashGridEncoding, graph: g.Graph, value: int) -> int:
    if value != g.COORDINATES:
        raise ExportError("cannot export a hash grid of anything but the coordinates")
    levels = [g.GridLevel(level.resolution, level.offset, level.entries, level.dense) for level in module.layout.levels]
    return graph.add(g.HashGrid(array_of(module.table), tuple(levels), module.interpolation == "smoothstep"))


@describes(FrequencyEncoding)
def _frequency(module: FrequencyEncoding, graph: g.Graph, value: int) -> int:
    inputs = graph.widths[value]
    waves = _sines_and_cosines(_frequencies(module, inputs), graph, value)
    count = graph.widths[waves]
    plain = graph.add(g.Dense(value, np.eye(inputs + count, inputs), np.zeros(inputs + count)))
    placed = graph.add(g.Dense(waves, np.eye(inputs + count, count, -inputs), np.zeros(inputs + count)))
    return graph.add(g.Sum(plain, placed))


def _frequencies(module: FrequencyEncoding, inputs: int) -> g.Array:
    """The rows of angles x_i f_k, coordinate by coordinate: (inputs bands, inputs)."""
    return np.kron(np.eye(inputs), array_of(module.frequencies)[:, None])


@describes(CoordinateMLP)
def _mlp(module: CoordinateMLP, graph: g.Graph, value: int) -> int:
    for index, layer in enumerate(module.layers):
        if index == 0 and isinstance(module.encoding, FrequencyEncoding):
            a = _after_frequencies(module.encoding, layer, graph, value)
        else:
            if index == 0 and module.encoding is not None:
                value = add_steps(module.encoding, graph, value)
            a = add_steps(layer, graph, value)
        value = add_steps(module.activation(index), graph, a)
        if module.skip and index > 0:
            value = graph.add(g.Sum(value, a))
    return add_steps(module.output, graph, value)


def _after_frequencies(encoding: FrequencyEncoding, layer: Any, graph: g.Graph, value: int) -> int:
    """W [x, sin, cos] + b as W_x x + (W_s [sin, cos] + b), so that no step joins vectors end to end."""
    inputs = graph.widths[value]
    weight, bias = array_of(layer.weight), array_of(layer.bias)
    features = _sines_and_cosines(_frequencies(encoding, inputs), graph, value)
    plain = graph.add(g.Dense(value, weight[:, :inputs], np.zeros(len(bias))))
    waves = graph.add(g.Dense(features, weight[:, inputs:], bias))
    return graph.add(g.Sum(plain, waves))


@describes(ChebyshevLayer)
def _chebyshev(module: ChebyshevLayer, graph: g.Graph, value: int) -> int:
    """T_0 is 1: its coefficients are the bias."""
    inputs = graph.widths[value]
    coefficients = array_of(module.weight).reshape(len(module.weight), inputs, module.degree + 1)
    if value == g.COORDINATES:
        # Shaders read polynomials' arguments from memory, where coordinates are not.
        value = graph.add(g.Dense(value, np.eye(inputs), np.zeros(inputs)))
    value = graph.add(g.Chebyshev(value, module.degree))
    return graph.add(g.Dense(value, coefficients[..., 1:].reshape(len(coefficients), -1), coefficients[..., 0].sum(1)))


@describes(ChebyshevKan)
def _kan(module: ChebyshevKan, graph: g.Graph, value: int) -> int:
    for layer in (*module.layers, module.output):
        value = add_steps(layer, graph, value)
    return value


@describes(Incode)
def _incode(module: Incode, graph: g.Graph, value: int) -> int:
    try:
        a, b, c, d = module.coefficients().unbind()
    except RuntimeError as error:
        raise ExportError(f"cannot export Incode: {error}") from None
    composer = module.composer
    for index, layer in enumerate(composer.layers):
        sine = composer.activation(index)
        assert isinstance(sine, Sine)
        pre = add_steps(layer, graph, value)
        numbers = (float(torch.exp(a)), float(torch.exp(b) * sine.omega0), float(c), float(d))
        value = graph.add(_sine(pre, *numbers))
    return add_steps(composer.output, graph, value)


@describes(FourierFilter)
def _fourier_filter(module: FourierFilter, graph: g.Graph, value: int) -> int:
    return graph.add(_sine(add_steps(module.linear, graph, value), 1.0, 1.0, 0.0))


@describes(GaborFilter)
def _gabor_filter(module: GaborFilter, graph: g.Graph, value: int) -> int:
    if value != g.COORDINATES:
        raise ExportError("cannot export a GaborFilter of anything but the coordinates")
    wave = graph.add(_sine(add_steps(module.linear, graph, value), 1.0, 1.0, 0.0))
    window = graph.add(g.Window(array_of(module.centre), array_of(module.sharpness)))
    return graph.add(g.Product(wave, window))


@describes(MultiplicativeFilterNetwork)
def _filters(module: MultiplicativeFilterNetwork, graph: g.Graph, value: int) -> int:
    z = add_steps(module.filters[0], graph, value)
    for layer, filter_ in zip(module.layers, list(module.filters)[1:], strict=True):
        filtered = add_steps(filter_, graph, value)
        z = graph.add(g.Product(filtered, add_steps(layer, graph, z)))
    return add_steps(module.output, graph, z)


@describes(Wire)
def _wire(module: Wire, graph: g.Graph, value: int) -> int:
    for index, layer in enumerate(module.layers):
        z = graph.add(_complex_dense(layer, value))
        window = None if module.orthogonal is None else graph.add(_complex_dense(module.orthogonal[index], value))
        omega0 = module.omega0 if index == 0 else module.hidden_omega0
        value = graph.add(g.Gabor(z, omega0, module.sigma0, window))
    dense = _complex_dense(module.output, value)
    return graph.add(g.Dense(value, dense.weight[0::2], dense.bias[0::2]))


def _complex_dense(layer: Any, value: int) -> g.Dense:
    """A linear layer with complex outputs as a real one on pairs: rows (Re w, -Im w) and (Im w, Re w)."""
    weight, bias = layer.weight, layer.bias
    if not weight.is_complex():
        # Real inputs: the imaginary part of the output is zero.
        return g.Dense(value, _interleaved(array_of(weight), None), _interleaved(array_of(bias), None))
    re, im = array_of(weight.real), array_of(weight.imag)
    columns = np.stack([re, -im], axis=-1).reshape(len(re), -1), np.stack([im, re], axis=-1).reshape(len(re), -1)
    return g.Dense(value, _interleaved(*columns), _interleaved(array_of(bias.real), array_of(bias.imag)))


def _interleaved(even: g.Array, odd: g.Array | None) -> g.Array:
    """Rows of two arrays in turn."""
    out = np.zeros((2 * len(even), *even.shape[1:]))
    out[0::2] = even
    if odd is not None:
        out[1::2] = odd
    return out
