"""Numbers of docs/analysis that no figure shows: `python docs/analysis/quoted_numbers.py`."""

from __future__ import annotations

import sys

import torch

from staf.analysis import ParameterDynamics, compare_kernels
from staf.analysis.points import few_points
from staf.analysis.registry import _small_fit
from staf.api import fit
from staf.kinds.image.sample import sample_photo
from staf.nn import staf
from staf.planning import recipes
from staf.training.schedules import Constant


def early_shares(steps: int = 300) -> str:
    """How much of the sinusoids' paths lies in the first third where the rate does not fall."""
    task, make = _small_fit(None, 0, None)
    field = make(torch.Generator().manual_seed(0))
    recorder = ParameterDynamics(field)
    recipe = recipes.default(steps=steps).replace(schedule=Constant())
    fit(task, field, recipe, seed=0, device="cpu", progress=False, callbacks=[recorder])
    shares = recorder.result.early_share(steps // 3)
    return "constant rate, share of the path in the first third: " + ", ".join(
        f"{k} {v:.0%}" for k, v in shares.items()
    )


def released_law(side: int = 32) -> str:
    """The signal's share along the first tenth of the eigenvectors, for the released code's law on a crop."""
    points = few_points(sample_photo("camera"), side * side, crop=True)
    fields = {
        f"seed {seed}": staf(2, 1, omega0=60, law="released", weights="torch", skip=True,
                             generator=torch.Generator().manual_seed(seed))
        for seed in (0, 1)
    }  # fmt: skip
    rows = compare_kernels(fields, *points).rows()
    shares = ", ".join(f"{row['network']} {row['target in the first tenth']:.1%}" for row in rows)
    return f"released law, {side}x{side} crop, signal in the first tenth: {shares}"


def main() -> None:
    for compute in (early_shares, released_law):
        sys.stdout.write(compute() + "\n")


if __name__ == "__main__":
    main()
