"""The Jacobi-Anger expansion of a two-layer network of sines: every frequency it contains, with its amplitude.

With omega x + phi the arguments of the first layer's m units and Wbar, bbar the second layer (both of the Kronecker
equivalent, so m = tau F1),

    h_i(x) = sin(sum_j Wbar_ij sin(omega_j x + phi_j) + bbar_i)
           = sum_{k in Z^m} alpha_k^(i) sin(<k, omega x + phi> + bbar_i),   alpha_k^(i) = prod_j J_{k_j}(Wbar_ij),

and an output sum_i R_i h_i + B has at frequency omega^T k the complex amplitude
A_k = sum_i R_i alpha_k^(i) e^{i(<k, phi> + bbar_i)}: output = B + Im sum_k A_k e^{i <omega^T k, x>}. Phases differ
between the units i, so amplitudes must be added as complex numbers.

>>> from staf.nn import staf
>>> field = staf(1, 1, width=2, depth=2, terms=2, omega0=3, hidden_omega0=1, dtype=torch.float64)
>>> expansion = expand(field, order=12)
>>> x = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
>>> error = abs(expansion(x.numpy()) - field(x).detach().numpy()).max()
>>> bool(error <= expansion.error_bound + 1e-12)
True
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from staf._documents import Document
from staf.theory.bessel import bessel_j
from staf.theory.checks import finite, whole
from staf.theory.kronecker import equivalent_matrices
from staf.theory.layers import read_network
from staf.theory.potential_frequencies import ENUMERATION_LIMIT, lattice

Array = NDArray[np.float64]
Truncation = Literal["ball", "box"]
# e to this power is still a float.
LARGEST_LOGARITHM = 700.0
# The sums over J_k(w) have about 1.4 w terms, one step of a Python loop each.
LARGEST_WEIGHT = 10_000.0


@dataclass(frozen=True)
class Expansion:
    """A truncated expansion: `orders` (n, m) k, `frequencies` (n, d) omega^T k, `amplitudes` (n, c) A_k, `bias` (c,).

    `error_bound` (c,) bounds |output - expansion| at every x.
    """

    orders: NDArray[np.int64]
    frequencies: Array
    amplitudes: NDArray[np.complex128]
    bias: Array
    error_bound: Array

    def __call__(self, x: ArrayLike) -> Array:
        """The truncated sum at points x (points, d); shape (points, c)."""
        points = np.asarray(x, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.frequencies.shape[1]:
            raise ValueError(f"x must have shape (points, {self.frequencies.shape[1]}), got {points.shape}")
        total = np.tile(self.bias, (len(points), 1))
        for start in range(0, len(self.orders), 4096):
            part = slice(start, start + 4096)
            total += (np.exp(1j * points @ self.frequencies[part].T) @ self.amplitudes[part]).imag
        return total

    def spectrum(self, *, decimals: int = 9) -> tuple[Array, NDArray[np.complex128]]:
        """Distinct frequencies (n, d) and their complex Fourier coefficients (n, c), those of e^{i <f, x>}.

        Terms at k and -k, and terms whose frequencies agree to `decimals`, are added. A real sine of amplitude A and
        phase l has the coefficients A e^{il} / 2i at f and its conjugate at -f; the bias is at 0.
        """
        frequencies = np.concatenate([self.frequencies, -self.frequencies, np.zeros((1, self.frequencies.shape[1]))])
        halves = self.amplitudes / 2j
        coefficients = np.concatenate([halves, halves.conj(), self.bias[None].astype(complex)])
        distinct, inverse = np.unique(frequencies.round(decimals) + 0.0, axis=0, return_inverse=True)
        total = np.zeros((len(distinct), coefficients.shape[1]), dtype=complex)
        np.add.at(total, inverse.ravel(), coefficients)
        return distinct, total


def expand(
    field: nn.Module, order: int, *, truncation: Truncation = "ball", limit: int = ENUMERATION_LIMIT
) -> Expansion:
    """Expand a network with two activated layers (linear or activated output) to |k|_1 <= order, or max|k_j| <= order.

    `ball` has Delannoy(m, order) terms and `box` (2 order + 1)^m: both only for small networks (m = terms x width).
    The second layer's weights Wbar = Omega C W may be at most 10,000 in size.
    """
    network = read_network(field)
    if len(network.layers) != 2 or any(network.skips) or network.encoding is not None:
        raise ValueError(
            "field must have two activated layers, no skip and no encoding; got "
            f"{len(network.layers)} layers, skips {list(network.skips)}, encoding {network.encoding!r}"
        )
    matrices = [(w.numpy(), b.numpy()) for w, b in equivalent_matrices(network)]
    for number, pair in enumerate(matrices, start=1):
        if not all(np.isfinite(array).all() for array in pair):
            raise ValueError(
                "field must have finite parameters with finite products Omega C W, got NaN or infinity in matrix "
                f"{number} of 3 of its Kronecker equivalent"
            )
    (first, phase), (second, shift), (output, bias) = matrices
    _require_weights(second, "the weights Omega C W of field's second layer")
    orders = _orders(first.shape[0], order, truncation, limit)
    # alpha[n, i] e^{i bbar_i}, summed over the units i with the output weights, one input unit j at a time.
    table = signed_bessel(order, second)
    alpha = np.ones((len(orders), len(shift)))
    for j in range(orders.shape[1]):
        alpha *= table[orders[:, j] + order, :, j]
    amplitudes = np.exp(1j * orders @ phase)[:, None] * (alpha @ (np.exp(1j * shift)[:, None] * output.T))
    tails = np.array([truncation_bound(row, order, truncation=truncation) for row in second])
    # A unit that is not read adds nothing, even where its own bound is infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        bound = np.where(output == 0, 0.0, np.abs(output) * tails).sum(1)
    return Expansion(orders, orders @ first, amplitudes, bias, bound)


def signed_bessel(order: int, x: ArrayLike) -> Array:
    """J_k(x) for k = -order ... order, shape (2 order + 1, *x.shape).

    >>> signed_bessel(1, 0.5).round(4).tolist()
    [-0.2423, 0.9385, 0.2423]
    """
    positive = bessel_j(order, x)
    parity = (-1.0) ** np.arange(order, 0, -1).reshape(-1, *([1] * (positive.ndim - 1)))
    return np.concatenate([positive[:0:-1] * parity, positive])


def amplitude_bound(orders: ArrayLike, weights: ArrayLike) -> Array:
    """prod_j min(1, (|Wbar_j|/2)^|k_j| / |k_j|!) >= |alpha_k|, for orders (n, m) and one unit's weights (m,).

    >>> float(amplitude_bound([[1, 0]], [1.0, 0.1])[0])      # |alpha| = 0.439; the paper's grouped bound says 0.05
    0.5
    """
    k = _order_rows(orders)
    w = np.abs(finite("weights", weights, largest=None)).ravel()
    if k.shape[1] != w.size:
        raise ValueError(f"orders must have {w.size} columns, one for each weight, got {k.shape[1]}")
    return np.exp(np.minimum(_log_power(w / 2, k) - _log_factorial(k), 0.0).sum(1))


def grouped_amplitude_bound(orders: ArrayLike, frequency: float, amplitude: ArrayLike, weights: ArrayLike) -> Array:
    """|Omega_q|^{|k|_1} prod_m |C_m|^{kappa_m} prod_j (|W2_j| / 2)^{|k_j|} / |k_j|!, kappa_m = sum of |k_j| in block m.

    The bound of `amplitude_bound` without its minimum, written in the STAF layer's own parameters: Omega_q of the
    second layer, C (tau,) of the first, and one row of W_2 (F1,); orders (n, tau F1). Each |C_m| has its own exponent.

    >>> float(grouped_amplitude_bound([[1, 0]], 1.0, [1.0, 0.1], [1.0])[0])
    0.5
    """
    k, omega = _order_rows(orders), finite("frequency", frequency, largest=None)
    c, w = (
        np.abs(finite(name, values, largest=None)).ravel()
        for name, values in (("amplitude", amplitude), ("weights", weights))
    )
    if omega.ndim:
        raise ValueError(f"frequency must be one number, that of a unit of the second layer, got shape {omega.shape}")
    if k.shape[1] != c.size * w.size:
        raise ValueError(f"orders must have {c.size * w.size} columns, terms x width, got {k.shape[1]}")
    blocks = k.reshape(len(k), c.size, w.size)
    logarithm = _log_power(np.abs(omega), k.sum(1)) + _log_power(c, blocks.sum(2)).sum(1)
    logarithm += _log_power(w / 2, blocks).sum((1, 2)) - _log_factorial(k).sum(1)
    with np.errstate(over="ignore"):
        return np.exp(logarithm)


def truncation_bound(weights: ArrayLike, order: int, *, truncation: Truncation = "ball") -> float:
    """A bound on sum |alpha_k| over the k left out, for one unit's weights (m,): how wrong the truncated h_i can be.

    `box` (max|k_j| <= order): sum_j R_j prod_{i != j} S_i, with S = sum_k |J_k| and R = 2 sum_{k > order} |J_k|.
    `ball` (|k|_1 <= order): the coefficients above z^order of prod_j (|J_0| + 2 |J_1| z + 2 |J_2| z^2 + ...).
    Sums over k run until (|w|/2)^k / k! is below 1e-30, and the rest is added by that bound. Weights may be at most
    10,000 in size. The bound is infinite where prod_j S_j is too large for a float.

    >>> truncation_bound([0.5, 0.5, 0.3, 0.2], 8, truncation="box") < 1e-9
    True
    """
    _require_truncation(order, truncation)
    w = np.abs(finite("weights", weights, largest=None))
    if w.ndim != 1:
        raise ValueError(f"weights must be those of one unit, of shape (m,), got {w.shape}")
    _require_weights(w, "weights")
    top = order + 1
    while _power_tail(float(w.max(initial=0.0)), top) > 1e-30:
        top += 1
    magnitudes = np.abs(bessel_j(top, w))
    magnitudes[1:] *= 2
    rest = np.array([_power_tail(float(v), top) for v in w])
    sums = magnitudes.sum(0) + rest
    with np.errstate(over="ignore"):
        total = sums.prod()
    if not np.isfinite(total):
        return math.inf
    # Every S is at least 1 (the squares of J_k sum to 1), so that no product without one of them is larger.
    others = total / sums
    if truncation == "box":
        return float(((magnitudes[order + 1 :].sum(0) + rest) * others).sum())
    # Coefficients up to z^order one by one, all higher ones as their sum.
    low, high = np.ones(1), 0.0
    for column, everything in zip(magnitudes.T, magnitudes.sum(0), strict=True):
        above = column[::-1].cumsum()[::-1]
        high = high * everything + float(low @ above[order + 1 - np.arange(len(low))])
        low = np.convolve(low, column[: order + 1])[: order + 1]
    return float(high + (rest * others).sum())


def jacobi_anger_data(samples: int = 1024, order: int = 14, seed: int = 0) -> Document:
    """Arrays for the figure: predicted spectrum of a small periodic two-layer STAF against its FFT.

    Frequencies of the first layer are whole numbers of cycles, so that the FFT over one period is exact. Keys:
    `frequency` (n,) in cycles, `predicted` and `fft` magnitudes (n,), `bound` the truncation error of the output.

    >>> data = jacobi_anger_data(samples=256, order=6)
    >>> bool(abs(data["predicted"] - data["fft"]).max() <= data["bound"])
    True
    """
    field = periodic_example(seed)
    expansion = expand(field, order)
    x = torch.arange(samples, dtype=torch.float64)[:, None] / samples
    with torch.no_grad():
        fft = np.fft.fft(field(x)[:, 0].numpy()) / samples
    frequencies, coefficients = expansion.spectrum()
    cycles = (frequencies[:, 0] / (2 * np.pi)).round().astype(int)
    predicted = np.zeros(samples, dtype=complex)
    np.add.at(predicted, cycles % samples, coefficients[:, 0])
    half = np.arange(samples // 2)
    return {
        "frequency": half,
        "predicted": np.abs(predicted[half]),
        "fft": np.abs(fft[half]),
        "bound": float(expansion.error_bound[0]),
    }


def periodic_example(seed: int = 0) -> nn.Module:
    """A two-layer STAF on one coordinate with period 1: W_1 = 2 pi (1, 7), Omega_1 = (1, 3), two terms, width 2."""
    from staf.nn import staf

    generator = torch.Generator().manual_seed(seed)
    field = staf(
        1, 1, width=2, depth=2, terms=2, law="theorem", weights="torch", generator=generator, dtype=torch.float64
    )
    values = {
        "layers.0.weight": 2 * math.pi * torch.tensor([[1.0], [7.0]], dtype=torch.float64),
        "activations.0.frequency": torch.tensor([1.0, 3.0], dtype=torch.float64),
        "activations.1.frequency": torch.tensor([2.0, 3.5], dtype=torch.float64),
    }
    field.load_state_dict({**field.state_dict(), **values})
    return field


def _orders(m: int, order: int, truncation: Truncation, limit: int) -> NDArray[np.int64]:
    _require_truncation(order, truncation)
    if truncation == "ball":
        return lattice(m, order, limit=limit)
    if (2 * order + 1) ** m > limit:
        raise ValueError(f"the box of order {order} in {m} units has {(2 * order + 1) ** m} terms, more than {limit}")
    return np.array(list(itertools.product(range(-order, order + 1), repeat=m)), dtype=np.int64)


def _power_tail(weight: float, order: int) -> float:
    """A bound on 2 sum_{k > order} (w/2)^k / k!: its first term times a geometric series."""
    if weight == 0:
        return 0.0
    k = order + 1
    # log(w) - log(2), since w/2 is 0 for the smallest float.
    ratio, logarithm = weight / 2 / (k + 1), k * (math.log(weight) - math.log(2)) - math.lgamma(k + 1)
    if ratio >= 1 or logarithm > LARGEST_LOGARITHM:
        return math.inf
    return 2 * math.exp(logarithm) / (1 - ratio)


def _log_power(base: Array, exponent: NDArray[np.int64]) -> Array:
    """The logarithm of base^exponent for a base of at least 0, with 0^0 = 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(exponent == 0, 0.0, exponent * np.log(base))


def _log_factorial(k: NDArray[np.int64]) -> Array:
    return np.asarray(np.vectorize(math.lgamma, otypes=[np.float64])(k + 1.0))


def _order_rows(orders: ArrayLike) -> NDArray[np.int64]:
    """|k| as rows of whole numbers."""
    given = np.atleast_2d(np.asarray(orders))
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise ValueError(f"orders must be rows of whole numbers, got shape {given.shape} of {given.dtype}")
    return np.abs(given.astype(np.int64))


def _require_weights(weights: Array, name: str) -> None:
    if (largest := float(np.abs(weights).max(initial=0.0))) > LARGEST_WEIGHT:
        raise ValueError(
            f"{name} must be at most {LARGEST_WEIGHT:,.0f} in size, got {largest:g}: orders up to about the weight "
            "matter, too many to sum; use a smaller hidden_omega0 or smaller weights"
        )


def _require_truncation(order: int, truncation: str) -> None:
    whole("order", order)
    if truncation not in ("ball", "box"):
        raise ValueError(f"truncation must be 'ball' or 'box', got {truncation!r}")
