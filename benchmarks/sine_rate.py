"""How many hardware sines a GPU computes in a second: the floor of an activation with many terms."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from staf.benchmarking.timing import seconds_of

SINES = 256


@triton.jit
def _sines(x_pointer, out_pointer, count: tl.constexpr, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_pointer + offsets)
    total = tl.zeros([block], dtype=tl.float32)
    for _step in range(count):
        x += 0.125
        total += tl.inline_asm_elementwise(
            "sin.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    tl.store(out_pointer + offsets, total)


def hardware_sine_rate(device: str) -> float:
    """`sin.approx` per second over the whole GPU."""
    block, programs = 1024, 8192
    x = torch.zeros(block * programs, device=device)
    out = torch.empty_like(x)

    def run() -> None:
        _sines[(programs,)](x, out, SINES, block)

    for _ in range(3):
        run()
    return block * programs * SINES / seconds_of(run, device, 10, pick=min)
