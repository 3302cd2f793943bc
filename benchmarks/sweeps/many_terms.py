"""A CPU step of networks with many terms, by tables and term by term: `python -m benchmarks.sweeps.many_terms`.

One thread, 16,384 points, four activated layers of 256, Adam; processor time, the smallest of five by turns.
"""

from __future__ import annotations

import json
import time

import torch

import staf
from staf._machine import provenance
from staf.ops.sine_series import table

POINTS, TURNS = 16_384, 5


def seconds(terms: int) -> tuple[float, float]:
    """A step term by term, and by tables."""
    generator = torch.Generator().manual_seed(0)
    x, y = 2 * torch.rand(POINTS, 2, generator=generator) - 1, torch.rand(POINTS, 3, generator=generator)
    field = staf.staf(2, 3, terms=terms, generator=generator)
    optimiser = torch.optim.Adam(field.parameters(), lr=1e-4)
    fewest, best = table.TERMS, [float("inf")] * 2
    try:
        for _ in range(TURNS):
            for place, smallest in enumerate((10**9, fewest)):
                table.TERMS = smallest
                began = time.process_time()
                optimiser.zero_grad()
                (field(x) - y).square().mean().backward()
                optimiser.step()
                best[place] = min(best[place], time.process_time() - began)
    finally:
        table.TERMS = fewest
    return best[0], best[1]


def main() -> None:
    torch.set_num_threads(1)
    print(json.dumps(provenance("cpu")))
    for terms in (5, 16, 20, 50):
        single, tables = seconds(terms)
        print(f"{terms} terms: {single:.3f} s term by term, {tables:.3f} s by tables: {single / tables:.2f} times")


if __name__ == "__main__":
    main()
