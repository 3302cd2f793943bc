"""Every result by name, as the command line shows it: for a network that was passed, or for a fresh one.

An entry computes; `staf.figures.theory.draw(name, result.data)` draws. Nothing here loads matplotlib.

>>> sorted(RESULTS)[:3]
['gradient-gain', 'initialisation', 'jacobi-anger']
>>> print(RESULTS["potential-frequencies"].run(None, 0).text().splitlines()[0])
Potential frequencies of T = 256 first-layer sines with tau = 5 terms each
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from staf._documents import Document
from staf.nn import CoordinateMLP, siren, staf
from staf.theory import initialisation, jacobi_anger, kernels, layer_statistics, potential_frequencies, sine_of_uniform
from staf.theory.dual import SineSeriesDual, unit
from staf.theory.gradient_gain import gradient_gains
from staf.theory.kronecker import equivalent_matrices, equivalent_parameters, kronecker_equivalent
from staf.theory.layers import Layer, read_network
from staf.theory.rational_elusive import combine, perturb_structured


@dataclass(frozen=True)
class Result:
    """A heading, rows of (label, value), and the arrays that the figure of the same name is drawn from."""

    heading: str
    rows: list[tuple[str, str]]
    data: Document

    def text(self) -> str:
        """Heading and rows, aligned."""
        width = max((len(label) for label, _ in self.rows), default=0)
        return "\n".join([self.heading, *(f"  {label:<{width}}  {value}" for label, value in self.rows)])


class Entry(NamedTuple):
    """What a name stands for, and the function from (network or None, seed) to its result."""

    description: str
    run: Callable[[nn.Module | None, int], Result]


def _paper(seed: int, **options: Any) -> CoordinateMLP:
    generator = torch.Generator().manual_seed(seed)
    options = {"omega0": 30, "law": "theorem", "weights": "torch", "generator": generator, **options}
    return staf(options.pop("inputs", 2), 3, **options)


def _initialisation(field: nn.Module | None, seed: int) -> Result:
    layers = read_network(field or _paper(seed)).layers
    rows = []
    for index, layer in enumerate(layers):
        c = layer.amplitude[0].numpy()
        values = f"power {initialisation.power(c):.3f}, excess kurtosis {initialisation.excess_kurtosis(c):+.3f}"
        who = "" if layer.shared else " (first neuron)"
        rows.append(
            (f"layer {index + 1}{who}", f"{values}, distance from N(0,1) {initialisation.distance_from_normal(c):.3f}")
        )
    terms = layers[0].amplitude.shape[1]
    low, high = initialisation.power_quantile([0.05, 0.95], terms)
    rows.append((f"5-95% range of the power at tau = {terms}", f"[{low:.2f}, {high:.2f}], mean 1 over initialisations"))
    return Result("Post-activations across neurons", rows, initialisation.amplitude_law_data(seed=seed))


def _layers(field: nn.Module | None, seed: int) -> Result:
    data = layer_statistics.layer_distribution_data(None if field is None else {"network": field}, seed=seed)
    rows = []
    for n, name in enumerate(data["names"]):
        for layer in range(data["variance"].shape[1]):
            values = [f"{key} {data[key][n, layer]:.3g}" for key in ("variance", "kurtosis", "distance", "bandwidth")]
            rows.append((f"{name}, layer {layer + 1}", ", ".join(values)))
    return Result("Distributions and spectra of every layer", rows, data)


def _gradient_gain(field: nn.Module | None, seed: int) -> Result:
    generator = torch.Generator().manual_seed(seed)
    fields: dict[str, nn.Module] = {"network": field} if field is not None else {
        "SIREN": siren(2, 3, generator=generator),
        "STAF, default weights": _paper(seed),
        "STAF as released (skip)": _paper(seed, omega0=60, law="released", skip=True),
        "STAF, unit-gain weights": _paper(seed, weights="unit_gain"),
    }  # fmt: skip
    data: Document = {"names": list(fields), "predicted": [], "measured": []}
    rows = []
    for name, each in fields.items():
        inputs = read_network(each).layers[0].weight.shape[1]
        if isinstance(each, CoordinateMLP):
            inputs = each.in_features
        x = (2 * torch.rand(1024, inputs, generator=generator) - 1).to(next(each.parameters()))
        gains = gradient_gains(each, x, generator)
        data["predicted"].append([gain.predicted for gain in gains])
        data["measured"].append([gain.measured for gain in gains])
        rows += [
            (f"{name}, layer {g.layer + 1}", f"predicted {g.predicted:.2f}, measured {g.measured:.2f}") for g in gains
        ]
    return Result("Gradient gain of each layer (rms)", rows, data)


def _sine_of_uniform(field: nn.Module | None, seed: int) -> Result:
    network = read_network(field or siren(2, 3, generator=torch.Generator().manual_seed(seed)))
    weight, bias = equivalent_matrices(network)[0]
    a, b = weight[:, 0].numpy(), bias.numpy()
    distances = sine_of_uniform.arcsine_distances(a, b)
    rows = [
        ("first-layer sines", f"{len(a)}, on the first coordinate with the others at 0"),
        ("share with |a| <= pi/2", f"{np.mean(np.abs(a) <= np.pi / 2):.3f}"),
        ("distance from the arcsine law", f"median {np.median(distances):.4f}, largest {distances.max():.4f}"),
        ("bound pi/(4|a|) at the median |a|", f"{np.pi / 4 / np.median(np.abs(a)):.4f}"),
    ]
    data = {**sine_of_uniform.siren_claim_data(), "network_a": np.abs(a), "network_distance": distances}
    return Result("sin(aX + b), X uniform on (-1, 1)", rows, data)


def _kronecker(field: nn.Module | None, seed: int) -> Result:
    options: Document = {"width": 12, "depth": 3, "terms": 3, "omega0": 3, "hidden_omega0": 3}
    # Compared in float64: in float32 two roundings of one deep network of high frequencies differ by themselves.
    chosen = copy.deepcopy(field or _paper(seed, **options)).to("cpu", torch.float64)
    network = read_network(chosen)
    plain = kronecker_equivalent(chosen, linear_units=any(network.skips))
    inputs = chosen.in_features if isinstance(chosen, CoordinateMLP) else network.layers[0].weight.shape[1]
    x = 2 * torch.rand(2000, inputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 1
    with torch.no_grad():
        error = (chosen(x) - plain(x)).abs().max(-1).values.numpy()
    second = min(1, len(network.layers) - 1)
    matrix = equivalent_matrices(network)[second][0].numpy()
    rows = [
        ("parameters", f"{sum(p.numel() for p in chosen.parameters()):,}"),
        ("parameters of the plain sine network", f"{equivalent_parameters(chosen):,}"),
        ("units that are the identity", f"{sum(plain.linear_units)} (none without skips)"),
        ("largest difference on 2,000 points", f"{error.max():.2e} in float64"),
    ]
    data = {"error": error, "matrix": np.abs(matrix), "block": len(network.layers[second].bias)}
    return Result("Kronecker equivalent", rows, data)


def _potential_frequencies(field: nn.Module | None, seed: int) -> Result:
    layer = read_network(field or _paper(seed)).layers[0]
    T, tau = layer.frequency.shape
    rows = []
    for K in (1, 2, 4, 9, 27):
        count = potential_frequencies.delannoy(tau * T, K)
        ratio = float(potential_frequencies.growth(tau, T, K) / Fraction(tau) ** K)
        rows.append((f"order K = {K}", f"{count:.4g} frequencies, growth / tau^K = {ratio:.4f}"))
    heading = f"Potential frequencies of T = {T} first-layer sines with tau = {tau} terms each"
    return Result(heading, rows, potential_frequencies.delannoy_data(max(tau, 2)))


def _rational_elusive(field: nn.Module | None, seed: int) -> Result:
    layer = read_network(field or _paper(seed)).layers[0]
    weight = layer.weight[:3].numpy()
    omega = [1.0, 2.5] if field is None else layer.frequency[0, :2].tolist()
    moved = perturb_structured(omega, weight[:, 0].tolist(), digits=8)
    products = moved.products()
    orders, before, after, full = list(range(1, 7)), [], [], []
    for K in orders:
        before.append(
            potential_frequencies.injectivity(potential_frequencies.kronecker_frequencies(omega, weight), K).image_size
        )
        vectors = potential_frequencies.lattice(len(products), K).tolist()
        after.append(len({tuple(sorted(combine(products, s).items())) for s in vectors}))
        full.append(len(vectors))
    rows = [
        (f"K = {K}", f"{b} distinct of {f}; {a} after the perturbation")
        for K, b, a, f in zip(orders, before, after, full, strict=True)
    ]
    shift = max(
        abs(x - y) for x, y in zip([*moved.arrays()[0], *moved.arrays()[1]], [*omega, *weight[:, 0]], strict=True)
    )
    rows.append(("largest change of a parameter", f"{shift:.1e}"))
    heading = f"Frequencies Omega (x) W of {len(weight)} neurons with Omega = {[round(v, 4) for v in omega]}"
    data = {"K": np.array(orders), "before": np.array(before), "after": np.array(after), "lattice": np.array(full)}
    return Result(heading, rows, data)


def _kernels(field: nn.Module | None, seed: int) -> Result:
    if field is None:
        fields = [_paper(seed, terms=terms, omega0=2, hidden_omega0=2) for terms in (2, 5)]
        named = {f"sine series {n + 1}": read_network(each).layers[1] for n, each in enumerate(fields)}
    else:
        named = _distinct(read_network(field).layers)
    series = {
        name + ("" if layer.shared else " (first neuron)"): SineSeriesDual(
            layer.amplitude[0], layer.frequency[0], layer.phase[0]
        )
        for name, layer in named.items()
    }
    rows = []
    for name, act in series.items():
        at_one, slope = float(act.value(*unit(1.0))), float(act.derivative(*unit(1.0)))
        mean, spread = kernels.shared_sinusoid_spread(1.0, act)
        added = f"trained sinusoids add {mean:.3g} +- {spread:.3g}"
        rows.append((f"{name}, tau = {len(act.amplitude)}", f"dual(1) = {at_one:.4f}, dual'(1) = {slope:.4g}, {added}"))
    drawn = dict(list(series.items())[:3])
    names = None if field is None else [f"{name}, τ = {len(act.amplitude)}" for name, act in drawn.items()]
    return Result("Dual activation and NTK", rows, kernels.kernel_comparison_data(list(drawn.values()), names=names))


def _distinct(layers: Sequence[Layer]) -> dict[str, Layer]:
    """Layers by name; those with the same sinusoids (SIREN's, or a network that shares one set) stand together."""
    alike: list[list[int]] = []
    for index, layer in enumerate(layers):
        for group in alike:
            parts = zip(layer[2:], layers[group[0]][2:], strict=True)
            if all(torch.equal(mine[0], theirs[0]) for mine, theirs in parts):
                group.append(index)
                break
        else:
            alike.append([index])
    return {
        ("layer " if len(group) == 1 else "layers ") + ", ".join(str(index + 1) for index in group): layers[group[0]]
        for group in alike
    }


def _jacobi_anger(field: nn.Module | None, seed: int) -> Result:
    order = 14
    # Evaluated in float64: float32 rounding alone would exceed the truncation error.
    chosen = copy.deepcopy(field or jacobi_anger.periodic_example(seed)).to("cpu", torch.float64)
    expansion = jacobi_anger.expand(chosen, order)
    inputs = expansion.frequencies.shape[1]
    x = 2 * torch.rand(500, inputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 1
    with torch.no_grad():
        values = chosen(x).numpy()
    error = np.abs(values - expansion(x.numpy())).max()
    rows = [
        ("terms", f"{len(expansion.orders):,} with |k| <= {order}"),
        ("bound on the truncation error", f"{expansion.error_bound.max():.2e}"),
        ("measured on 500 points", f"{error:.2e}"),
    ]
    data = jacobi_anger.jacobi_anger_data(order=order, seed=seed)
    if field is not None:
        strength = np.abs(expansion.amplitudes[:, 0])
        data = {
            "orders": np.abs(expansion.orders).sum(1),
            "strength": strength,
            "radius": np.linalg.norm(expansion.frequencies, axis=1),
        }
    return Result("Jacobi-Anger expansion of a two-layer network", rows, data)


RESULTS: dict[str, Entry] = {
    "initialisation": Entry("the amplitude law of Theorem 3.1 and what it makes of post-activations", _initialisation),
    "layers": Entry("distributions and spectra of every layer (SIREN, STAF of 5, 10, 20 terms)", _layers),
    "gradient-gain": Entry("how much each layer enlarges gradients, predicted and measured", _gradient_gain),
    "sine-of-uniform": Entry("the law of sin(aX + b) and its distance to the arcsine law", _sine_of_uniform),
    "kronecker": Entry("the plain sine network that equals a network of sine series", _kronecker),
    "potential-frequencies": Entry("how many frequencies a network can contain", _potential_frequencies),
    "rational-elusive": Entry("frequencies that coincide, and the perturbation that separates them", _rational_elusive),
    "kernels": Entry("dual activation and NTK, compared with sine, Gaussian and ReLU", _kernels),
    "jacobi-anger": Entry("every frequency of a two-layer network with its amplitude", _jacobi_anger),
}
