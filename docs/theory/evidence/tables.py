"""Numbers that decide the errata on tables and counts: E21 to E23."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np

from staf.nn import ffn, pemlp, siren, staf, wire
from staf.nn.encodings import nyquist_bands

RESULTS = Path(__file__).parents[2] / "results" / "data"
KODIM05_256 = "732da493"


def ssim_spread() -> str:
    # n values of at most 1 with mean m: the spread is largest if one of them takes all that is missing.
    parts = []
    for name, mean, spread in (("INCODE", 0.992, 1.535), ("STAF", 0.993, 0.082)):
        largest = math.sqrt(24) * (1 - (mean - 0.0005))
        parts.append(f"{name} {mean} ± {spread}: at most {largest:.3f}")
    return "sample standard deviation of 24 SSIM values with the printed mean: " + ", ".join(parts)


def two_tables() -> str:
    ratio = 10 ** ((57.13 - 38.80) / 10)
    short, long = released_rows("tau-ablation", 500), released_rows("kodak", 1000)
    measured = ", ".join(f"{short[seed]:.2f}" for seed in range(3))
    return (
        f"57.13 and 38.80 dB are {57.13 - 38.80:.2f} dB apart: a mean squared error {ratio:.0f} times smaller; kodim05 "
        f"at 256x256 as released: {measured} dB after 500 (seeds 0, 1, 2), {long[0]:.2f} dB after 1,000 (seed 0), "
        f"{long[0] - short[0]:.2f} dB more with seed 0"
    )


def released_rows(experiment: str, iterations: int) -> dict[int, float]:
    """PSNR by seed of STAF with tau = 5 and 198,975 parameters on kodim05 at 256x256, by the released recipe."""
    rows = json.loads((RESULTS / f"{experiment}.json").read_text(encoding="utf-8"))
    return {
        row["configuration"]["seed"]: row["metrics"]["psnr"]
        for row in rows
        if row["label"].startswith(("kodim05 staf released", "kodim05 tau 5 released"))
        and row["data"]["sha256"].startswith(KODIM05_256)
        and row["configuration"]["length"]["iterations"] == iterations
        and row["details"]["parameters"] == 198_975
    }


def index_typos() -> str:
    x, y = np.arange(1, 7.0).reshape(2, 3), np.arange(1, 9.0).reshape(4, 2)
    product, right, printed = np.kron(x, y), 0, 0
    for i, j in itertools.product(range(1, 9), range(1, 7)):
        value = y[(i - 1) % 4, (j - 1) % 2]
        right += product[i - 1, j - 1] == x[math.ceil(i / 4) - 1, math.ceil(j / 2) - 1] * value
        column = math.ceil(i / 2)
        printed += column <= 3 and product[i - 1, j - 1] == x[math.ceil(i / 4) - 1, column - 1] * value
    omega, c, w = np.array([2.0, 3.0]), np.array([0.5, 0.7]), np.array([[1.0, 4.0], [5.0, 6.0]])
    whole = np.kron(np.kron(omega[:, None], c[None]), w)
    # Line 1677 has Omega (x) C where Omega belongs, so that C is there twice.
    twice = sum(
        math.isclose(whole[i, j], np.kron(omega[:, None], c[None])[i // 2, 0] * c[j // 2] * w[i % 2, j % 2])
        for i, j in itertools.product(range(4), repeat=2)
    )
    once = sum(
        math.isclose(whole[i, j], omega[i // 2] * c[j // 2] * w[i % 2, j % 2])
        for i, j in itertools.product(range(4), repeat=2)
    )
    return (
        f"entries of a Kronecker product of 48 that match: with j {right}, with i as printed {printed}; "
        f"of W-bar's 16: with Omega {once}, with Omega (x) C as printed {twice}"
    )


def counts() -> str:
    fields = {
        "SIREN": siren(2, 3),
        "STAF 5": staf(2, 3),
        "STAF 10": staf(2, 3, terms=10),
        "FFN with 5 bands": ffn(2, 3, bands=5),
        "FFN with 256 gaussian features": ffn(2, 3),
        "ReLU + PE with 7 bands": pemlp(2, 3),
        "SIREN, 5 layers, 1 output": siren(2, 1, depth=5),
        "STAF, 1 output, per layer": staf(2, 1),
        "STAF, 1 output, per neuron": staf(2, 1, sharing="neuron"),
        "WIRE": wire(2, 3),
    }
    parameters = {name: sum(p.numel() for p in field.parameters()) for name, field in fields.items()}
    complex_twice = sum(p.numel() * (2 if p.is_complex() else 1) for p in fields["WIRE"].parameters())
    products = 2 * (2 * 256 + 3 * 256 * 256 + 256 * 3)
    # A term is a product with Omega, a sum with Phi, a sine and a product with C; tau - 1 sums add them up.
    extra = {tau: 4 * 256 * (5 * tau - 1) / products for tau in (5, 50)}
    listed = ", ".join(f"{name} {count:,}" for name, count in parameters.items())
    elementwise = ", ".join(f"{share:.1%} at tau = {tau}" for tau, share in extra.items())
    bands = ", ".join(f"{nyquist_bands(samples)} at {samples} samples" for samples in (510 // 3, 512, 1023))
    return (
        f"{listed} ({complex_twice:,} real numbers); matrix products {products:,} FLOPs; elementwise operations "
        f"beside them {elementwise}; bands of a frequency encoding: {bands}"
    )


EVIDENCE = {
    "E21 spread of SSIM": ssim_spread,
    "E22 two tables": two_tables,
    "E23 indices": index_typos,
    "Counts": counts,
}
