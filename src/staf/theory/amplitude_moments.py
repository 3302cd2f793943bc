"""Which amplitudes give which post-activations: the paper's moment identity (eq. "desired") for any law of C.

For Z = sum_u C_u sin(Gamma_u + Phi_u) with uniform phases and independent amplitudes,

    E[Z^q] = (q! / 2^q) sum_{j_1 + ... + j_tau = q/2} prod_u E[C_u^{2 j_u}] / (j_u!)^2,

that is, with the series X_u(t) = sum_j E[C_u^{2j}] t^j / (j!)^2:  E[Z^q] = (q! / 2^q) [t^{q/2}] prod_u X_u(t).
For equal laws the product is a power, and a power series has one tau-th root that starts at 1: the even moments of C
are determined by those of Z. The paper's (2/tau)^j j! is therefore the only answer for a normal Z.

>>> amplitude_moments(normal_moments(6), terms=5) == [Fraction(2, 5) ** j * math.factorial(j) for j in range(4)]
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from staf.theory.checks import fractions, whole

Moments = Sequence[Fraction]


def post_activation_moments(amplitudes: Sequence[Moments]) -> list[Fraction]:
    """E[Z^0], E[Z^2], ... from E[C_u^0], E[C_u^2], ... of each term u; as many as the shortest list has.

    >>> sign = [Fraction(1)] * 4                      # C = 1 or -1, or simply 1: the sign is of no effect
    >>> [str(m) for m in post_activation_moments([sign])]     # one sine: the arcsine law
    ['1', '1/2', '3/8', '5/16']
    """
    if not amplitudes or not all(amplitudes):
        raise ValueError("amplitudes must hold the even moments of at least one term, got none")
    count = min(len(moments) for moments in amplitudes)
    product = [Fraction(1)] + [Fraction(0)] * (count - 1)
    for moments in amplitudes:
        series = _series(moments[:count])
        product = [sum((product[i] * series[n - i] for i in range(n + 1)), Fraction(0)) for n in range(count)]
    return [value * Fraction(math.factorial(2 * n), 4**n) for n, value in enumerate(product)]


def amplitude_moments(wanted: Moments, terms: int) -> list[Fraction]:
    """E[C^0], E[C^2], ... of `terms` independent, equal amplitudes for which Z has the even moments `wanted`.

    Not every answer is the law of a real number: it is one only if its Hankel determinants are not negative.

    >>> uniform = [Fraction(3**n, 2 * n + 1) for n in range(4)]      # Z ~ U(-sqrt 3, sqrt 3), of variance 1
    >>> post_activation_moments([amplitude_moments(uniform, 4)] * 4) == uniform
    True
    """
    terms = whole("terms", terms, 1)
    wanted = fractions("wanted", wanted)
    if not wanted or wanted[0] != 1:
        raise ValueError(f"wanted must start with E[Z^0] = 1, got {list(wanted[:1])}")
    power = [value * Fraction(4**n, math.factorial(2 * n)) for n, value in enumerate(wanted)]
    # The tau-th root r of a series p with p_0 = 1: n p_0 r_n = sum_{k=1..n} (k/tau - (n - k)) p_k r_{n-k}.
    root = [Fraction(1)]
    for n in range(1, len(power)):
        total = sum((Fraction(k, terms) - (n - k)) * power[k] * root[n - k] for k in range(1, n + 1))
        root.append(Fraction(total) / n)
    return [value * math.factorial(n) ** 2 for n, value in enumerate(root)]


def normal_moments(order: int) -> list[Fraction]:
    """E[Z^0], E[Z^2], ..., E[Z^order] of a standard normal: (q - 1)!!.

    >>> [int(m) for m in normal_moments(8)]
    [1, 1, 3, 15, 105]
    """
    order = whole("order", order)
    return [Fraction(math.factorial(2 * n), 2**n * math.factorial(n)) for n in range(order // 2 + 1)]


def _series(moments: Moments) -> list[Fraction]:
    return [moment / math.factorial(n) ** 2 for n, moment in enumerate(fractions("amplitudes", moments))]
