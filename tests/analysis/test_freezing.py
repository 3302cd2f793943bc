"""Freeze after warm-up: same start, same first steps, then sinusoids that stand still."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf.analysis import Dynamics, freeze_after_warm_up


def picture() -> np.ndarray:
    i, j = np.meshgrid(np.linspace(0, 3, 10), np.linspace(0, 2, 10))
    return (0.5 + 0.4 * np.sin(3 * i + j)).astype(np.float32)


def make(generator: torch.Generator) -> torch.nn.Module:
    return staf.staf(2, 1, width=12, depth=2, generator=generator)


def test_frozen_from_the_given_step_on() -> None:
    found = freeze_after_warm_up(picture(), make, staf.Recipe(steps=30), freeze_from=12, seed=3, device="cpu")
    assert (found["steps"], found["freeze_from"]) == (30, 12)
    assert len(found["full"]["loss"]) == len(found["frozen"]["loss"]) == 30
    # The loss of a step is measured before its update, so the first to differ is that after the first frozen one.
    assert found["full"]["loss"][:13] == found["frozen"]["loss"][:13]
    assert found["full"]["loss"][13] != found["frozen"]["loss"][13]
    frozen, full = (Dynamics.from_plain(found[name]["dynamics"]) for name in ("frozen", "full"))
    for part, change in frozen.arrays("change").items():
        assert (change[:12] > 0).all()
        assert not change[12:].any()
        assert (full.arrays("change")[part] > 0).all()
    assert found["psnr_lost"] == pytest.approx(found["full"]["metrics"]["psnr"] - found["frozen"]["metrics"]["psnr"])
    assert found["psnr_lost"] != 0
    json.dumps(found)


def test_refuses_a_negative_step() -> None:
    with pytest.raises(ValueError, match="freeze_from must not be negative, got -1"):
        freeze_after_warm_up(picture(), make, staf.Recipe(steps=3), freeze_from=-1)
