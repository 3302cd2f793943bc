"""A small smooth picture and small fields, shared by the tests of this room."""

from __future__ import annotations

import numpy as np
import torch

from staf.kinds import Image
from staf.nn import siren, staf
from staf.tasks import Reconstruction


def picture(size: int = 16) -> Image:
    y, x = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, 1, size), indexing="ij")
    channels = [0.5 + 0.4 * np.sin(7 * x + 3 * y), 0.5 + 0.4 * np.cos(5 * x * y), x * y]
    return Image(np.stack(channels, axis=-1).astype(np.float32))


def task(size: int = 16) -> Reconstruction:
    return Reconstruction(picture(size))


def small_siren(seed: int = 0) -> torch.nn.Module:
    return siren(2, 3, width=16, depth=3, generator=torch.Generator().manual_seed(seed))


def small_staf(seed: int = 0) -> torch.nn.Module:
    return staf(2, 3, width=16, depth=3, omega0=30.0, generator=torch.Generator().manual_seed(seed))
