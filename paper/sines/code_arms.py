"""The comparison of codes: every kind by the same search on held-out training pictures, then new pictures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from paper.data.preparation import area_means
from paper.sines.codes import CodeSpec, encoded_psnr, meta_learn, spec_of

# name -> kind, and whether it is as wide as `shifts` or has as many shared parameters.
CODE_ARMS = {
    "shifts (COIN++)": ("shifts", True),
    "sines of neurons by a map": ("sines by a map", False),
    "sines of neurons by a map, as wide": ("sines by a map", True),
    "sines of layers": ("sines of layers", False),
}
LENGTH, BATCH = 60, 16
# Steps that fit the code of a picture, in the search and in the end.
SEARCH_STEPS, FIT_STEPS = 30, 100
META_RATES, STEP_FACTORS, CODE_RATES = (3e-4, 1e-3), (1.0, 10.0), (1e-3, 1e-2)
# Seeds of the search, and the share of the steps that it learns by.
SEARCH_SEEDS, SEARCH_SHARE = 2, 4
# Pixels of a picture that a step of learning sees.
PIXELS = 256


def code_spec(arm: str, width: int, length: int = LENGTH) -> CodeSpec:
    """What an arm is at the width that `shifts` has."""
    kind, as_wide = CODE_ARMS[arm]
    return spec_of(kind, length, width, as_wide=as_wide)


def run_codes(
    arm: str,
    pictures: np.ndarray,
    *,
    width: int,
    steps: int,
    seeds: Sequence[int],
    device: str,
    first_order: bool = False,
    length: int = LENGTH,
    rates: Sequence[float] = META_RATES,
    step_factors: Sequence[float] = STEP_FACTORS,
    code_rates: Sequence[float] = CODE_RATES,
    batch: int = BATCH,
    pixels: int = PIXELS,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures and details of one arm on pictures (N, h, w, 3) of bytes: 3/5 to learn from, 1/5 to search, 1/5 new.

    Where there is more than one setting, the best is searched with two seeds and a quarter of the steps, and is learnt
    again with all. `held_out` is the measure of the final weights on the pictures of the search, by which runs of
    different rates can be compared without a look at the new ones.
    """
    targets = torch.from_numpy(pictures.astype(np.float32) / 255).reshape(len(pictures), -1, 3).to(device)
    points = _points(pictures.shape[1:3]).to(device)
    cut = [0, len(targets) * 3 // 5, len(targets) * 4 // 5, len(targets)]
    learn, held_out, new = (targets[a:b] for a, b in itertools.pairwise(cut))
    spec, log, best, found = code_spec(arm, width, length), {}, -np.inf, (rates[0], step_factors[0], code_rates[0])
    learn_by = partial(meta_learn, spec, learn, points, batch=batch, first_order=first_order, pixels=pixels)
    several = len(rates) * len(step_factors) * len(code_rates) > 1
    for rate, step in itertools.product(rates, step_factors) if several else ():
        short = max(1, steps // SEARCH_SHARE)
        shared = learn_by(steps=short, rate=rate, seeds=seeds[:SEARCH_SEEDS], step=step)
        for code_rate in code_rates:
            _, after = encoded_psnr(spec, shared, held_out, points, steps=min(steps, SEARCH_STEPS), rate=code_rate)
            log[f"{rate:g}, steps x{step:g}, codes {code_rate:g}"] = value = float(after.nan_to_num(0.0).mean())
            if value > best:
                best, found = value, (rate, step, code_rate)
    rate, step, code_rate = found
    shared = learn_by(steps=steps, rate=rate, seeds=seeds, step=step)
    fit_codes = partial(encoded_psnr, spec, shared, points=points, steps=min(steps, FIT_STEPS), rate=code_rate)
    first, after = fit_codes(new)
    known = fit_codes(held_out)[1]
    values = {"after 3 steps": first.mean(1).tolist(), "after 100 steps": after.mean(1).tolist()}
    details = {
        "values": values, "search": log, "width": spec.width, "parameters": spec.shared, "code": spec.length,
        "rate": rate, "step_factor": step, "code_rate": code_rate, "held_out": known.mean(1).tolist(),
        "pictures": [len(learn), len(held_out), len(new)],
    }  # fmt: skip
    return {"psnr": float(after.mean()), "psnr_3_steps": float(first.mean())}, details


def small_faces(arrays: Sequence[np.ndarray], side: int) -> np.ndarray:
    """The middle squares of pictures as area means of `side` pixels, (N, side, side, 3)."""
    squares = []
    for array in arrays:
        short = min(array.shape[:2])
        top, left = ((have - short) // 2 for have in array.shape[:2])
        square = array[top : top + short, left : left + short, :3]
        squares.append(square if short == side else area_means(square, (side, side)))
    return np.stack(squares)


def _points(shape: tuple[int, ...]) -> torch.Tensor:
    axes = [(2 * torch.arange(size) + 1) / size - 1 for size in shape]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
