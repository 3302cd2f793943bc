"""What this machine can do at best, measured at the start of a run: matrix products, copies, sines.

Rates are of the fastest repeat: what disturbs a run makes it slower, never faster.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass

import torch

from staf import ops
from staf.benchmarking.timing import seconds_of
from staf.ops.linear import linear, product_precision
from staf.ops.linear.library import library_precision

# What a shared CPU lets run undisturbed now and then: a few milliseconds.
SHORT_ROWS, SHORT_REPEATS = 2048, 100


@dataclass(frozen=True)
class Rates:
    """Measured rates: FLOP/s of matrix products by precision, bytes/s of a copy (read + write), sines/s or None.

    On a GPU these are the hardware's sines; on a CPU those of the library's own kernel for a series of many terms.
    """

    matmul: dict[str, float]
    copy: float
    sines: float | None = None


def measure_rates(device: str, *, side: int | None = None, copied: int | None = None) -> Rates:
    """Matrix products of about `side`, and a copy of `copied` floats."""
    on_gpu = device.startswith("cuda")
    side = side or (8192 if on_gpu else 1024)
    copied = copied or (2**28 if on_gpu else 2**24)
    repeats = 10 if on_gpu else 20
    matmul = {"fp32": _matmul_rate(device, side, repeats, torch.float32)}
    if on_gpu:
        with library_precision("tf32"):
            matmul["tf32"] = _matmul_rate(device, side, repeats, torch.float32)
        # Three products of bfloat16 make one.
        matmul["bf16x3"] = _matmul_rate(device, side, repeats, torch.bfloat16) / 3
    source = torch.zeros(copied, device=device)
    target = torch.empty_like(source)
    target.copy_(source)
    copy = 8 * copied / seconds_of(lambda: target.copy_(source), device, repeats, pick=min)
    if not on_gpu:
        matmul["fp32"] = max(matmul["fp32"], _layer_rate(SHORT_ROWS, SHORT_REPEATS))
    return Rates(matmul, copy, _sine_rate(device) if on_gpu else _cpu_sine_rate())


def _matmul_rate(device: str, side: int, repeats: int, dtype: torch.dtype) -> float:
    """FLOP/s of a square product, or of many rows by a 256x256 matrix where that is faster."""
    best = 0.0
    for n, k in ((side, side), (32 * side, 256)):
        a, b = torch.ones(n, k, device=device, dtype=dtype), torch.ones(k, k, device=device, dtype=dtype)
        out = torch.empty(n, k, device=device, dtype=dtype)
        product = functools.partial(torch.mm, a, b, out=out)
        for _ in range(3):
            product()
        best = max(best, 2 * n * k * k / seconds_of(product, device, repeats, pick=min))
    return best


def _layer_rate(rows: int, repeats: int) -> float:
    """FLOP/s of the library's own linear layer, many rows by a 256x256 matrix, on the CPU."""
    x, weight = torch.ones(rows, 256), torch.ones(256, 256)

    def run() -> None:
        with product_precision("fp32"):
            linear(x, weight)

    run()
    return 2 * rows * 256 * 256 / seconds_of(run, "cpu", repeats, pick=min)


def _cpu_sine_rate(points: int = 2**18, terms: int = 50) -> float:
    """Terms of a series per second over all threads; the work of reading and writing is small beside 50 terms."""
    x, parameters = torch.linspace(-1, 1, points), torch.linspace(-1, 1, terms)

    def run() -> None:
        ops.sine_series(x, parameters, 30 * parameters, parameters)

    run()
    return points * terms / seconds_of(run, "cpu", 20, pick=min)


def _sine_rate(device: str) -> float | None:
    """Hardware sines per second, or None where triton is missing or does not know the instruction."""
    try:
        from benchmarks.sine_rate import hardware_sine_rate

        return hardware_sine_rate(device)
    except Exception as error:
        warnings.warn(f"sines per second were not measured: {error}", stacklevel=2)
        return None
