"""Pixels for the tests, made on the spot."""

from __future__ import annotations

import functools

import numpy as np

DTYPES = (np.uint8, np.uint16, np.float32)


def pixels(height: int = 37, width: int = 53, channels: int = 3, dtype: type = np.uint8, seed: int = 0) -> np.ndarray:
    """A smooth ramp with noise on it, covering the type's whole range; (h, w, c)."""
    generator = np.random.default_rng(seed)
    ramp = np.linspace(0, 1, height * width * channels).reshape(height, width, channels)
    noisy = np.clip(ramp + generator.normal(0, 0.1, ramp.shape), 0, 1)
    noisy.flat[0], noisy.flat[-1] = 0.0, 1.0
    if np.dtype(dtype).kind == "f":
        return noisy.astype(dtype)
    return np.rint(noisy * np.iinfo(dtype).max).astype(dtype)


@functools.cache
def srgb_profile() -> bytes:
    # Made once: it carries the time of its making.
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def squeezed(array: np.ndarray) -> np.ndarray:
    return array[..., 0] if array.shape[2] == 1 else array
