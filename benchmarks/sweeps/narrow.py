"""The rates of narrow networks: photos as small area means, networks of several widths, multiples of one rate.

`python -m benchmarks.sweeps.narrow PHOTO ... [--side 32] [--steps 500] [--widths 16 32 64] [--rates 1e-3 2e-3 4e-3]`
prints a line of JSON per fit: final PSNR, and PSNR on the same photo at twice the side, which was not seen. Without
`--rates` it runs the plan of the width and the plan of 256 neurons side by side."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from paper.data.preparation import area_means
from staf.planning import Budget, plan
from staf.planning.situation import Choice


def between(field: torch.nn.Module, fine: np.ndarray) -> float:
    """PSNR at the centres of the pixels of a larger picture (h, w, 3) of bytes."""
    axes = [(2 * torch.arange(size) + 1) / size - 1 for size in fine.shape[:2]]
    points = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    with torch.no_grad():
        found = field(points).clamp(0, 1).reshape(fine.shape)
    return float(-10 * torch.log10((found - torch.from_numpy(fine / 255.0)).square().mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", nargs="+")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--models", nargs="+", default=["staf", "siren", "finer"])
    parser.add_argument("--rates", type=float, nargs="+", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for path in options.photos:
        pixels = staf.open(path).array
        image = staf.Image(area_means(pixels, (options.side, options.side)))
        fine = area_means(pixels, (2 * options.side, 2 * options.side))
        for width in options.widths:
            asked: Any = {"asked": lambda s, width=width: Choice("", arguments={"width": width})}
            for model in options.models:
                budget = Budget(steps=options.steps)
                chosen = plan(image, budget, model=model, rules=asked)
                usual = plan(image, budget, model=model).recipe.rate
                for rate in options.rates or [usual, chosen.recipe.rate]:
                    recipe = chosen.recipe.replace(rate=rate, matrix_rate=rate)
                    fit = staf.fit(image, field=chosen.field(0), recipe=recipe, progress=False, device="cpu")
                    row = {"photo": Path(path).stem, "side": options.side, "steps": options.steps, "width": width}
                    row |= {"network": model, "rate": rate, "psnr": round(fit.metrics["psnr"], 2)}
                    print(json.dumps({**row, "between": round(between(fit.module, fine), 2)}), flush=True)


if __name__ == "__main__":
    main()
