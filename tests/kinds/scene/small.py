"""The procedural scene at a size that a test can fit, and a network of that size."""

from __future__ import annotations

from typing import Any

import torch

import staf
from staf.kinds import Scene
from staf.kinds.scene.reading import Views
from staf.nn.radiance_field import RadianceField
from staf.training import Recipe
from tests.kinds.scene.procedural import around, traced

HALF = 1.2


def views(count: int, *, size: int = 16, start: float = 0.0) -> Views:
    cameras = around(count, size=size, start=start)
    return Views([f"photo {i}" for i in range(count)], traced(cameras)[0], cameras)


def scene(
    *, train: int = 10, test: int = 2, size: int = 16, ray_samples: int | None = 96, subpixels: int | None = None
) -> Scene:
    held_out = views(test, size=size, start=0.5) if test else None
    rays = {"ray_samples": ray_samples, "subpixels": subpixels}
    return Scene(views(train, size=size), held_out, half=HALF, **rays, name="ball and box")


def field(seed: int = 0, **arguments: Any) -> RadianceField:
    sizes = {"width": 16, "levels": 4, "log2_entries": 12, "coarsest": 8, "finest": 32, "features": 8}
    options = {"activation": "staf", "directions": "plain", **sizes, **arguments}
    return staf.radiance_grid(6, 4, **options, generator=torch.Generator().manual_seed(seed))


def recipe(steps: int, **changes: Any) -> Recipe:
    return Recipe(steps=steps, batch=512, rate=5e-3, table_rate=3e-2).replace(**changes)
