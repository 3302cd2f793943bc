"""Numbers that decide the errata on formulas: E1 to E9, E20, and the lemma that is right as printed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from staf.nn import staf
from staf.theory import jacobi_anger, sine_of_uniform
from staf.theory.bessel import bessel_j
from staf.theory.dual import SineSeriesDual, unit
from staf.theory.kernels import nngp_ntk
from staf.theory.kronecker import equivalent_matrices, kronecker_equivalent
from staf.theory.layers import read_network
from staf.theory.potential_frequencies import (
    delannoy,
)


def dual_sign() -> str:
    act = SineSeriesDual(*(torch.tensor(v) for v in ([1.2, -0.7, 0.9], [0.8, 1.6, 1.1], [0.3, -1.0, 2.0])))
    s, t = torch.randn(2, 4_000_000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    product = act.activation(s) * act.activation(0.5 * s + math.sqrt(0.75) * t)
    printed = SineSeriesDual(act.amplitude, act.frequency, act.phase + math.pi / 2)
    return (
        f"Monte Carlo {product.mean():.4f} +- {product.std() / math.sqrt(len(product)):.4f}, "
        f"minus {act.value(*unit(0.5)):.4f}, plus (printed) {printed.value(*unit(0.5)):.4f}"
    )


def delannoy_binomials() -> str:
    brute = sum(1 for s in itertools.product(range(-2, 3), repeat=3) if sum(map(abs, s)) <= 2)
    printed = sum(math.comb(i, 2) * math.comb(i, 3) * 2**i for i in range(3))
    return f"V(3, 2): enumerated {brute}, C(K,i)C(T,i) {delannoy(3, 2)}, printed C(i,K)C(i,T) {printed}"


def kronecker_bias() -> str:
    generator = torch.Generator().manual_seed(0)
    field = staf(2, 2, width=12, depth=3, terms=3, omega0=3, hidden_omega0=3, law="theorem", weights="torch",
                 generator=generator, dtype=torch.float64)  # fmt: skip
    x = 2 * torch.rand(2000, 2, generator=generator, dtype=torch.float64) - 1
    plain = kronecker_equivalent(field)
    with torch.no_grad():
        right = float((plain(x) - field(x)).abs().max())
        for layer, read in zip(plain.layers, read_network(field).layers, strict=True):
            layer.bias.copy_(read.phase.T.reshape(-1))
        wrong = float((plain(x) - field(x)).abs().max())
    return f"largest difference with Omega (x) B + Phi (x) 1: {right:.1e}; with Phi (x) 1 alone: {wrong:.2f}"


def bessel_bound() -> str:
    generator = np.random.default_rng(5)
    failures = {"own exponents": 0, "printed grouped": 0, "printed headline": 0}
    for _ in range(2000):
        omega, c, w = generator.normal(), generator.normal(size=2), generator.normal(size=2)
        k = generator.integers(-2, 3, size=4)
        weights = np.kron(omega * c, w)
        alpha = abs(np.prod([bessel_j(2, x)[abs(n)] for n, x in zip(k, weights, strict=True)]))
        factorials = np.prod([math.factorial(abs(n)) for n in k])
        power = np.prod((np.tile(np.abs(w), 2) / 2) ** np.abs(k)) / factorials
        bound = jacobi_anger.grouped_amplitude_bound(k[None], omega, c, w)[0]
        failures["own exponents"] += alpha > bound * (1 + 1e-12)
        failures["printed grouped"] += alpha > abs(omega * c.prod()) ** np.abs(k).sum() * power * (1 + 1e-12)
        failures["printed headline"] += alpha > np.prod((np.kron(c, w) / 2) ** np.abs(k)) / factorials + 1e-15
    return "violations in 2,000 draws: " + ", ".join(f"{name} {count}" for name, count in failures.items())


def second_matrix_indices() -> str:
    field = staf(1, 1, width=3, depth=2, terms=2, law="theorem", generator=torch.Generator().manual_seed(0))
    network = read_network(field)
    matrix = equivalent_matrices(network)[1][0].numpy()
    omega, c, w = network.layers[1].frequency[0], network.layers[0].amplitude[0], network.layers[1].weight
    correct = printed = 0
    for i, j in itertools.product(range(1, 7), repeat=2):
        term_i, term_j = math.ceil(i / 3), math.ceil(j / 3)
        right = float(omega[term_i - 1] * c[term_j - 1] * w[(i - 1) % 3, (j - 1) % 3])
        wrong = float(omega[term_i - 1] * c[term_j % 2] * w[i % 3, j % 3])
        correct += math.isclose(right, matrix[i - 1, j - 1], rel_tol=1e-9)
        printed += math.isclose(wrong, matrix[i - 1, j - 1], rel_tol=1e-9)
    return f"entries that match, of 36: correct {correct}, printed {printed}"


def single_branch() -> str:
    masses = []
    for a, b in ((2.5, 0.0), (math.pi / 2, 0.7)):
        t = np.linspace(b - a, b + a, 200_001)
        masses.append((np.arcsin(np.sin(t).max()) - np.arcsin(np.sin(t).min())) / (2 * a))
    return f"mass of the printed density: {masses[0]:.3f} at a = 2.5, b = 0; {masses[1]:.3f} at a = pi/2, b = 0.7"


def moments_at_multiples_of_pi() -> str:
    nodes, weights = np.polynomial.legendre.leggauss(100)
    numeric = float((weights / 2 * np.sin(2 * np.pi * nodes + 0.3) ** 2).sum())
    formula = sine_of_uniform.moment(2, 2 * np.pi, 0.3)
    return f"E[Y^2] at a = 2 pi: quadrature {numeric:.6f}, formula {formula:.6f}, printed 0.25"


def laplace_moments() -> str:
    x = (np.arange(600_000) + 0.5) * 1e-4
    fourth = float((x**4 * np.exp(-x)).sum() * 1e-4)
    return f"E[X^4], scale 1: numeric {fourth:.4f}, 4! = 24, printed 1/4! = {1 / 24:.4f}"


def recursion_depth() -> str:
    act = SineSeriesDual(torch.tensor([0.9, -0.7, 1.1]), torch.tensor([0.6, 1.7, 1.1]), torch.tensor([0.4, -1.2, 2.2]))
    angle = torch.linspace(0, math.pi, 6, dtype=torch.float64)
    x = torch.stack([angle.cos(), angle.sin()], 1)
    one, two = (nngp_ntk(x, [act.normalised()] * steps).ntk for steps in (1, 2))
    return f"one hidden layer, the kernel after two steps instead of one is {(two - one).norm() / one.norm():.0%} off"


def activated_output() -> str:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    # L = 2 in the numbering of equation (1): one activated layer of 6, then a linear layer to 3 values; no biases.
    c, omega, phi, first, second = draw(4), 3 * draw(4).abs(), draw(4), draw(6, 2), draw(3, 6) / 3
    x = 2 * torch.rand(500, 2, generator=generator, dtype=torch.float64) - 1

    def rho(a: torch.Tensor) -> torch.Tensor:
        return (c * torch.sin(omega * a[..., None] + phi)).sum(-1)

    linear = rho(x @ first.T) @ second.T
    ones = torch.ones
    z = torch.sin(x @ torch.kron(omega[:, None], first).T + torch.kron(phi, ones(6, dtype=torch.float64)))
    inner = torch.kron(torch.kron(omega[:, None], c[None]), second)
    z = torch.sin(z @ inner.T + torch.kron(phi, ones(3, dtype=torch.float64)))
    printed = z @ torch.kron(c[None], torch.eye(3, dtype=torch.float64)).T
    apart = float((printed - linear).abs().max())
    same = float((printed - rho(linear)).abs().max())
    return (
        f"printed construction, L = 2: {apart:.1f} from the network of equation (1), {same:.0e} from rho* of its output"
    )


def integral_lemma() -> str:
    # Both sides of the two integrals, the left by the trapezoidal rule, which is exact to rounding for such functions.
    u = np.linspace(-30, 30, 20_001)
    worst = 0.0
    for alpha, beta, gamma in itertools.product((0.3, 2.0, 5.0), (-1.0, 0.4, 2.5), (0.5, 1.7)):
        for wave in (np.cos, np.sin):
            left = float((wave(alpha * u + beta) * np.exp(-gamma * u**2)).sum() * (u[1] - u[0]))
            right = math.sqrt(math.pi / gamma) * math.exp(-(alpha**2) / (4 * gamma)) * float(wave(beta))
            worst = max(worst, abs(left - right))
    return f"largest difference of both sides over 36 cases: {worst:.0e}"


EVIDENCE = {
    "E1 sign in the dual": dual_sign,
    "E2 Delannoy numbers": delannoy_binomials,
    "E3 bias of the Kronecker equivalent": kronecker_bias,
    "E4 grouped Bessel bound": bessel_bound,
    "E5 indices of W-bar": second_matrix_indices,
    "E6 density for pi/2 <= a < pi": single_branch,
    "E7 moments at a = n pi": moments_at_multiples_of_pi,
    "E8 Laplace moments": laplace_moments,
    "E9 depth of the NTK recursion": recursion_depth,
    "E20 activated output of the Kronecker theorem": activated_output,
    "Right integral lemma": integral_lemma,
}
