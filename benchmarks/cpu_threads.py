"""Training steps in some seconds on this CPU: all threads always, one always, and chosen step by step.

python benchmarks/cpu_threads.py [seconds of each]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import torch

from staf.nn import staf
from staf.ops.linear import product_precision
from staf.training.threads import Threads


def stepper(choose: bool, threads: int) -> Callable[[float], int]:
    """Takes steps of 16,384 points (four layers of 256, five terms) for some seconds, and counts them."""
    torch.set_num_threads(threads)
    field = staf(2, 3, generator=torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(field.parameters(), lr=1e-4)
    x = torch.rand(16_384, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1

    def step() -> None:
        optimiser.zero_grad()
        with product_precision("fp32"):
            field(x).square().mean().backward()
        optimiser.step()

    chooser = Threads()

    def run(seconds: float) -> int:
        torch.set_num_threads(threads)
        count, start = 0, time.monotonic()
        while time.monotonic() - start < seconds:
            if choose:
                chooser.run(step)
            else:
                step()
            count += 1
        return count

    return run


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    most = os.cpu_count() or 1
    ways = {f"{most} threads": stepper(False, most), "one": stepper(False, 1), "chosen": stepper(True, most)}
    total = dict.fromkeys(ways, 0)
    # By turns, since other programs come and go.
    for _ in range(10):
        for name, run in ways.items():
            total[name] += run(seconds / 10)
    print(f"load {os.getloadavg()[0]:.1f} on {most}, steps in {seconds:g} s each:", total)
