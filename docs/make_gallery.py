"""Fit the gallery's three fields: python docs/make_gallery.py [photo] [shape] [sound].

Each is fitted for half a minute to a minute on a CPU; seeds and steps are fixed. Their pages are written when the
documentation is built, with the viewer as it is then: see gallery_pages.py. The photograph is NASA's (public
domain), the shape and the sound are made here.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

import staf
from staf.kinds import Audio, Image, Shape, sample_photo
from staf.kinds.audio.plan import audio_window

FOLDER = Path(__file__).parent / "gallery"
STEPS = 500


def photo() -> staf.Fit:
    """A face, 96 pixels wide."""
    pixels = sample_photo("astronaut").array[0:288, 84:372].astype(np.float64)
    small = pixels.reshape(96, 3, 96, 3, 3).mean((1, 3)).round().astype(np.uint8)
    picture = Image(small, name="astronaut")
    return staf.fit(picture, staf.staf(2, 3, width=96, depth=3, omega0=30), steps=STEPS, seed=0)


def shape() -> staf.Fit:
    """The signed distance to a knot."""
    recipe = staf.recipes.default(batch=1024).replace(rate=2e-3, matrix_rate=2e-3)
    return staf.fit(knot(), staf.staf(3, 1, width=64, depth=3, omega0=8), recipe, steps=STEPS, seed=0)


def knot() -> staf.PointCloud:
    """20,000 points on a trefoil knot as thick as a rope."""
    import trimesh

    along, around = np.linspace(0, 2 * math.pi, 240, endpoint=False), np.linspace(0, 2 * math.pi, 40, endpoint=False)
    centre = _knot(along)
    tangent = _knot(along + 1e-4) - _knot(along - 1e-4)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    side = np.cross(tangent, _knot(along + 1e-2) + _knot(along - 1e-2) - 2 * centre)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, tangent)
    ring = 0.42 * (np.cos(around)[None, :, None] * side[:, None] + np.sin(around)[None, :, None] * up[:, None])
    vertices = (centre[:, None] + ring).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(240), np.arange(40), indexing="ij")
    a, b = i * 40 + j, i * 40 + (j + 1) % 40
    c, d = (i + 1) % 240 * 40 + j, (i + 1) % 240 * 40 + (j + 1) % 40
    faces = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([b, c, d], -1).reshape(-1, 3)])
    mesh = trimesh.Trimesh(vertices, faces)
    mesh.fix_normals()
    surface = Shape.from_arrays(np.asarray(mesh.vertices), np.asarray(mesh.faces), resolution=64, name="trefoil knot")
    return staf.PointCloud.sampled(surface, 20_000, seed=0)


def _knot(t: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)


def sound() -> staf.Fit:
    """Five plucked notes in two seconds."""
    rate, length = 8000, 16000
    t = np.arange(length) / rate
    wave = np.zeros(length)
    for start, pitch in zip((0.0, 0.35, 0.7, 1.05, 1.4), (261.6, 329.6, 392.0, 329.6, 523.3), strict=True):
        local = np.clip(t - start, 0, None)
        body = sum(np.sin(2 * np.pi * pitch * k * local) / k**1.5 for k in (1, 2, 3))
        wave += np.where(t >= start, body * np.exp(-5 * local) * (1 - np.exp(-200 * local)), 0)
    audio = Audio((0.6 * wave / np.abs(wave).max()).astype(np.float32), rate, name="five notes")
    return staf.fit(audio, plan=audio_window(audio, steps=STEPS), seed=0)


def main(names: list[str]) -> None:
    for make in (photo, shape, sound):
        if not names or make.__name__ in names:
            fit = make()
            path = fit.save(FOLDER / f"{make.__name__}.safetensors")
            measures = ", ".join(f"{name} {value:.4g}" for name, value in fit.metrics.items())
            sys.stdout.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {measures}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
