"""The initialisation of Theorem 3.1: the law of the amplitudes, and what it makes of the post-activations.

**Theorem.** Let Phi_i ~ U(-pi, pi) and C_i ~ f_C, i = 1..tau, all independent of one another and of
(Gamma_1, ..., Gamma_tau), which may be arbitrary and dependent. Then Z = sum_i C_i sin(Gamma_i + Phi_i) ~ N(0, 1).

Proof: |C_i| is Rayleigh(1/sqrt(tau)), so C_i sin(Gamma_i + Phi_i) is N(0, 1/tau) given Gamma (Box and Muller), and
tau independent ones add up to N(0, 1).

This is the law of one neuron at one input **over initialisations**. Within one network whose layer shares one draw
of C, neurons and inputs follow `neuron_cdf`, of power (1/2) sum C^2 and lighter tails than the normal.

>>> post_activation_moment(4, terms=5)
Fraction(3, 1)
>>> [round(v, 2) for v in power_quantile([0.05, 0.95], terms=5)]
[0.39, 1.83]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from staf._documents import Document
from staf.theory.checks import LARGEST, finite, numbers, whole
from staf.theory.dual import SineSeriesDual

Array = NDArray[np.float64]


def amplitude_density(c: ArrayLike, terms: int) -> Array:
    """f_C(c) = (tau |c| / 2) exp(-tau c^2 / 2).

    >>> float(amplitude_density(0.0, 5))
    0.0
    """
    _require_terms(terms)
    values = np.minimum(np.abs(numbers("c", c)), LARGEST)
    return terms * values / 2 * np.exp(-terms * values**2 / 2)


def amplitude_cdf(c: ArrayLike, terms: int) -> Array:
    """(1/2) exp(-tau c^2 / 2) for c < 0, and 1 minus that for c >= 0.

    >>> float(amplitude_cdf(0.0, 5))
    0.5
    """
    _require_terms(terms)
    values = np.clip(numbers("c", c), -LARGEST, LARGEST)
    tail = np.exp(-terms * values**2 / 2) / 2
    return np.where(values < 0, tail, 1 - tail)


def amplitude_quantile(u: ArrayLike, terms: int) -> Array:
    """The inverse of the CDF: sign(u - 1/2) sqrt(-(2/tau) log1p(-2 |u - 1/2|)).

    >>> round(float(amplitude_cdf(amplitude_quantile(0.9, 5), 5)), 12)
    0.9
    """
    _require_terms(terms)
    centred = numbers("u", u) - 0.5
    if (np.abs(centred) > 0.5).any():
        raise ValueError("u must lie in [0, 1], a probability; got a value outside")
    with np.errstate(divide="ignore"):
        return np.sign(centred) * np.sqrt(-2 / terms * np.log1p(-2 * np.abs(centred)))


def sample_amplitude(shape: Sequence[int], terms: int, generator: torch.Generator | None = None) -> Tensor:
    """Draws of C in float64, from the generator and nothing else.

    >>> sample_amplitude((2, 5), 5, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 5])
    """
    _require_terms(terms)
    for size in shape:
        whole("shape", size)
    device = "cpu" if generator is None else generator.device
    # Multiples of 2^-53 shifted by half a step: never 0, 1 or 1/2 exactly, so never infinite or zero.
    u = torch.rand(tuple(shape), generator=generator, dtype=torch.float64, device=device) - 0.5 + 2.0**-54
    return u.sign() * torch.sqrt(-2 / terms * torch.log1p(-2 * u.abs()))


def amplitude_moment(order: int, terms: int) -> Fraction:
    """E[C^{2j}] = (2/tau)^j j!, zero for odd orders.

    >>> amplitude_moment(2, 5), amplitude_moment(3, 5)
    (Fraction(2, 5), Fraction(0, 1))
    """
    _require_terms(terms)
    order = whole("order", order)
    half, odd = divmod(order, 2)
    return Fraction(0) if odd else Fraction(2, terms) ** half * math.factorial(half)


def post_activation_moment(order: int, terms: int) -> Fraction:
    """E[Z^q] from the moments of C and of the sine of a uniform angle, exactly: (q - 1)!! for even q, as for N(0, 1).

    E[(C sin)^{2j}] = (2/tau)^j j! C(2j, j) / 4^j; the terms are independent, so the exponential generating function
    of the moments of Z is that of one term to the power tau.

    >>> [int(post_activation_moment(q, terms=3)) for q in range(9)]
    [1, 0, 1, 0, 3, 0, 15, 0, 105]
    """
    order = whole("order", order)
    single = [
        amplitude_moment(n, terms) * (Fraction(math.comb(n, n // 2), 2**n) if n % 2 == 0 else 0) / math.factorial(n)
        for n in range(order + 1)
    ]
    total = [Fraction(1)] + [Fraction(0)] * order
    for _ in range(terms):
        total = [sum((total[i] * single[n - i] for i in range(n + 1)), Fraction(0)) for n in range(order + 1)]
    return total[order] * math.factorial(order)


def power(amplitude: ArrayLike) -> float:
    """(1/2) sum C^2: the variance of one draw's post-activations over well-spread pre-activations.

    >>> power([1.0, 1.0])
    1.0
    """
    return float((finite("amplitude", amplitude) ** 2).sum() / 2)


def power_cdf(x: ArrayLike, terms: int) -> Array:
    """The CDF of the power over initialisations, Gamma(shape tau, scale 1/tau): mean 1, variance 1/tau.

    >>> round(float(power_cdf(1.83, 5)), 3)
    0.95
    """
    _require_terms(terms)
    values = torch.as_tensor(np.maximum(numbers("x", x), 0.0))
    return torch.special.gammainc(torch.full_like(values, float(terms)), terms * values).numpy()


def power_quantile(probability: ArrayLike, terms: int) -> list[float]:
    """Quantiles of the power, by bisection.

    >>> [round(v, 2) for v in power_quantile([0.05, 0.95], terms=2)]
    [0.18, 2.37]
    """
    wanted = np.atleast_1d(numbers("probability", probability))
    if ((wanted < 0) | (wanted >= 1)).any():
        raise ValueError(f"probability must lie in [0, 1), got {wanted.tolist()}")
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    while (power_cdf(high, terms) < wanted).any():
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        below = power_cdf(middle, terms) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high.tolist()


def excess_kurtosis(amplitude: ArrayLike) -> float:
    """-1.5 sum C^4 / (sum C^2)^2: of one draw, over well-spread pre-activations; mean -3/(tau + 1) over draws.

    Zero where all amplitudes are, as for any constant.

    >>> excess_kurtosis([1.0])          # one sine is the arcsine law
    -1.5
    """
    c = finite("amplitude", amplitude, largest=None)
    # Divided by the largest first: squares of the smallest floats are 0, and those of the largest infinite.
    scaled = c / max(float(np.abs(c).max(initial=0.0)), np.finfo(np.float64).smallest_subnormal)
    share = scaled**2 / max(float((scaled**2).sum()), 1.0)
    return 0.0 - 1.5 * float((share**2).sum())


def neuron_cdf(z: ArrayLike, amplitude: ArrayLike, *, harmonics: int = 4096) -> Array:
    """P(sum_i C_i sin U_i <= z), U_i independent and uniform: the law across the neurons of one initialised layer.

    Its characteristic function is prod_i J_0(C_i t) and its support [-S, S], S = sum |C_i|, so the Fourier series on
    the support is exact: F(z) = (z + S)/2S + sum_n prod_i J_0(n pi C_i / S) sin(n pi z / S) / (n pi). Terms fall like
    n^(-1 - tau/2); one term alone is the arcsine law, in closed form.

    >>> round(float(neuron_cdf(0.5, [1.0])), 12) == round(0.5 + math.asin(0.5) / math.pi, 12)
    True
    """
    values = numbers("z", z)
    c = np.abs(finite("amplitude", amplitude, largest=None).ravel())
    c = c[c > 0]
    if not c.size:
        return np.where(values >= 0, 1.0, 0.0)
    whole("harmonics", harmonics, 1)
    # The law is that of C / max C, stretched.
    with np.errstate(over="ignore"):
        values, c = values / c.max(), c / c.max()
    support = c.sum()
    inside = np.clip(values, -support, support)
    if len(c) == 1:
        return 0.5 + np.arcsin(inside / support) / np.pi
    n = np.arange(1, harmonics + 1)
    angle = torch.from_numpy(n[:, None] * np.pi * c / support)
    characteristic = torch.special.bessel_j0(angle).prod(1).numpy()
    waves = np.sin(inside[..., None] * (n * np.pi / support)) @ (characteristic / (n * np.pi))
    return np.clip((inside + support) / (2 * support) + waves, 0.0, 1.0)


def neuron_moments(
    amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike, variance: float
) -> tuple[float, float]:
    """Mean and variance of rho(a), a ~ N(0, variance), for one draw: exact where `power` is the limit of large Omega.

    E[rho] = sum C e^{-Omega^2 v/2} sin Phi, and E[rho^2] is the dual activation at p = q = c = v.

    >>> mean, spread = neuron_moments([1.0], [50.0], [0.3], 1.0)
    >>> round(mean, 12), round(spread, 12)
    (0.0, 0.5)
    """
    series = SineSeriesDual(*(torch.as_tensor(np.asarray(t, dtype=np.float64)) for t in (amplitude, frequency, phase)))
    c, omega, phi = series.amplitude, series.frequency, series.phase
    if float(finite("variance", variance)) < 0:
        raise ValueError(f"variance must be at least 0, got {variance}")
    v = torch.tensor(float(variance), dtype=torch.float64)
    mean = float((c * torch.exp(-(omega**2) * v / 2) * torch.sin(phi)).sum())
    return mean, float(series.value(v, v, v)) - mean**2


def distance_from_normal(amplitude: ArrayLike, *, points: int = 501) -> float:
    """sup_z |F(z) - Phi(z)| of one draw's law across neurons, on a grid of its support.

    >>> distance_from_normal([1.0]) > 0.1
    True
    """
    reach = float(np.abs(finite("amplitude", amplitude)).sum())
    whole("points", points, 2)
    z = np.linspace(-reach, reach, points)
    return float(np.abs(neuron_cdf(z, amplitude) - normal_cdf(z)).max())


def normal_cdf(z: ArrayLike) -> Array:
    """Phi(z), the standard normal CDF.

    >>> float(normal_cdf(0.0))
    0.5
    """
    return torch.special.ndtr(torch.as_tensor(numbers("z", z))).numpy()


def init_covariance(distance: ArrayLike, frequency: ArrayLike) -> Array:
    """Cov(rho(x), rho(x')) = (1/tau) sum_i cos(Omega_i (x - x')) over C and Phi: rho is a Gaussian process.

    Averaged over Omega ~ U(0, w) it is sin(w d) / (w d).

    >>> float(init_covariance(0.0, [3.0, 7.0]))
    1.0
    """
    d, omega = finite("distance", distance), finite("frequency", frequency)
    if not omega.size:
        raise ValueError("frequency must have at least one entry, got none")
    return np.cos(omega * d[..., None]).mean(-1)


def amplitude_law_data(terms: Sequence[int] = (2, 5, 10, 20), draws: int = 8, seed: int = 0) -> Document:
    """Arrays for the figure: the amplitude density, the law of the power, and eight draws' laws across neurons.

    Keys: `terms`, `c` (m,), `density` (t, m), `power` (m,), `power_cdf` (t, m), `z` (k,), `normal` (k,), `neuron`
    (draws, k) for tau = 5, `powers` (draws,), `distances` (draws,).

    >>> amplitude_law_data(draws=2)["neuron"].shape
    (2, 401)
    """
    generator = torch.Generator().manual_seed(seed)
    c, x, z = np.linspace(-2, 2, 801), np.linspace(0, 3, 601), np.linspace(-4, 4, 401)
    amplitudes = [sample_amplitude((5,), 5, generator).numpy() for _ in range(draws)]
    return {
        "terms": list(terms),
        "c": c,
        "density": np.stack([amplitude_density(c, t) for t in terms]),
        "power": x,
        "power_cdf": np.stack([power_cdf(x, t) for t in terms]),
        "z": z,
        "normal": normal_cdf(z),
        "neuron": np.stack([neuron_cdf(z, a) for a in amplitudes]),
        "powers": np.array([power(a) for a in amplitudes]),
        "distances": np.array([distance_from_normal(a) for a in amplitudes]),
    }


def _require_terms(terms: int) -> None:
    whole("terms", terms, 1)
