"""Code as a user writes it, checked by `make types` with every flag of `mypy --strict`; it is never run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import staf


def fit_a_picture(path: Path) -> float:
    photo = staf.open(path)
    fit: staf.Fit = staf.fit(photo, steps=10, seed=0, progress=False)
    fit.reconstruction.save("same.png")
    fit.render(scale=2).save("larger.png")
    fit.save("photo.safetensors")
    field: staf.FittedField = staf.load("photo.safetensors")
    values: torch.Tensor = field(torch.zeros(3, 2))
    gradient: torch.Tensor = field.gradient(torch.zeros(3, 2))
    assert values.shape[0] == gradient.shape[0]
    return fit.metrics["psnr"]


def by_hand() -> list[str]:
    picture = staf.Image(np.zeros((4, 4, 3), np.uint8))
    chosen: staf.Plan = staf.plan(picture, staf.Budget(steps=10))
    recipe: staf.Recipe = chosen.recipe.replace(steps=20, schedule=staf.Cosine(0.01))
    other = staf.fit(picture, field=staf.siren(2, 3, width=16), recipe=recipe)
    staf.fit(picture, staf.staf(2, 3, terms=3), staf.recipes.default(steps=5))
    act = staf.SineSeries(terms=5, omega0=30)
    many: staf.ManyFits = staf.fit_many([picture, picture], steps=2)
    with staf.backend("reference"):
        act(torch.zeros(2, 3))
    return [other.stopped, *chosen.reasons.values(), str(many.mean_psnr)]
