"""Fitted fields without fitting: a small network, and the metadata of a signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from staf.api import FittedField
from staf.kinds import Audio, Image, Shape
from tests.export.networks import make


def image_field(
    name: str = "staf", *, shape: tuple[int, ...] = (40, 56, 3), convention: str = "centres", **how: Any
) -> FittedField:
    signal = Image(np.zeros(shape, np.uint8), name="tiny <b>picture</b>")
    metadata = {"signal": signal.metadata(), "convention": convention}
    return FittedField(make(name, 2, signal.out_features, **how), metadata)


def audio_field(
    name: str = "staf", *, samples: int = 4000, rate: int = 8000, channels: int = 1, **how: Any
) -> FittedField:
    wave = np.zeros((samples, channels), np.float32)
    wave[0] = 0.5
    signal = Audio(wave, rate, name="click")
    return FittedField(make(name, 1, channels, **how), {"signal": signal.metadata(), "convention": "centres"})


def shape_field(name: str = "staf", **how: Any) -> FittedField:
    return FittedField(make(name, 3, 1, **how), {"signal": Shape.sphere(resolution=16).metadata()})
