"""One small fit, shared by the tests of this room."""

from __future__ import annotations

import numpy as np
import pytest

import staf
from staf.kinds import Image

HOSTILE = "<script>alert(1)</script>\"'&<img src=http://evil.example/x onerror=alert(2)>"


def small_image(height: int = 40, width: int = 56, *, name: str = "small", dtype: str = "uint8") -> Image:
    rows, columns = np.mgrid[0:height, 0:width]
    picture = np.stack([np.sin(rows / 7), np.cos(columns / 9), np.sin((rows + columns) / 11)], axis=-1) / 2 + 0.5
    if dtype == "float32":
        return Image(picture.astype(np.float32), name=name)
    return Image((picture * np.iinfo(dtype).max).round().astype(dtype), name=name)


def small_fit(image: Image, steps: int = 30) -> staf.Fit:
    field = staf.staf(2, image.out_features, width=24, depth=2, omega0=20)
    return staf.fit(image, field=field, steps=steps, progress=False, device="cpu")


@pytest.fixture(scope="session")
def fit() -> staf.Fit:
    return small_fit(small_image())


@pytest.fixture(scope="session")
def hostile_fit() -> staf.Fit:
    image = small_image(name=HOSTILE)
    image.source = f"/tmp/{HOSTILE}.png"
    image.notes = [f"a note about {HOSTILE}"]
    return small_fit(image)
