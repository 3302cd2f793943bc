"""Rates of pictures that are too small for SOAP: PSNR at the pixels and between them, by the plan of a GPU.

`python -m benchmarks.sweeps.picture_rates PHOTO --side 128 --models staf siren --rates 5e-4 1e-3 --steps 250` fits
the photo, made smaller by area means, on any device, and prints a line for each network and rate: PSNR of the final
weights over the pixels; PSNR of a rendering at twice the size against the photo at that size (where its squares
can be halved); and against the bicubic enlargement (`paper.measures.interpolation_quality`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import staf
from benchmarks.sweeps.restoration_constants import reduced
from benchmarks.sweeps.rows import Row, measure, options
from paper.measures.interpolation_quality import interpolation_quality
from staf.metrics import psnr
from staf.planning import Budget, plan


def fit(photo: str, side: int, model: str, rate: float, steps: int, device: str) -> Row:
    """One network at one rate."""
    picture = reduced(photo, side)
    chosen = plan(picture, Budget(steps=steps), device="cuda", model=model)
    recipe = chosen.recipe.replace(rate=rate, matrix_rate=rate)
    found = staf.fit(picture, field=chosen.field(0), recipe=recipe, seed=0, progress=False, device=device)
    row = {"rate of the plan": chosen.recipe.rate, "psnr": found.metrics["psnr"], **interpolation_quality(found)}
    # Where squares of means can be halved, both sizes show the same part of the photo.
    if min(staf.open(photo, kind="image").shape) // side % 2 == 0:
        twice, truth = found.render(scale=2).values().clamp(0, 1), reduced(photo, 2 * side).values()
        row["psnr at twice the size"] = float(psnr(twice, truth, data_range=1.0))
    return row


def runs(given: argparse.Namespace) -> Iterator[tuple[str, partial[Row]]]:
    """The name of each run and what makes it."""
    for model in given.models:
        for rate in given.rates:
            name = f"{given.side}x{given.side} {model} {rate:g} {given.steps} steps"
            yield name, partial(fit, given.photo, given.side, model, rate, given.steps, given.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photo")
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--models", nargs="+", default=["staf", "siren", "finer"])
    parser.add_argument("--rates", nargs="+", type=float, default=[5e-4, 1e-3, 3e-3])
    parser.add_argument("--steps", type=int, default=250)
    given = options(parser)
    measure(runs(given), [], given, {"photo": given.photo})


if __name__ == "__main__":
    main()
