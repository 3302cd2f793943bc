"""Every analysis of a small network on a small picture or sound, computed once for the tests that look at it."""

from __future__ import annotations

import functools

import numpy as np
import torch

import staf
from staf.analysis.registry import RESULTS
from staf.theory.registry import Result

SIDE = 7


def picture() -> staf.Image:
    i, j = np.meshgrid(np.linspace(0, 3, SIDE), np.linspace(0, 2, SIDE))
    return staf.Image((0.5 + 0.4 * np.sin(3 * i + j)).astype(np.float32))


def sound() -> staf.Audio:
    return staf.Audio(np.sin(np.arange(60) / 3).astype(np.float32), rate=8000)


def small_field() -> torch.nn.Module:
    return staf.staf(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(0))


FIELD = small_field()


@functools.cache
def result(name: str) -> Result:
    if name == "ntk-audio":
        return RESULTS[name].run(staf.staf(1, 1, width=8, depth=2), 0, sound(), "cpu")
    return RESULTS[name].run(FIELD, 0, picture(), "cpu")
