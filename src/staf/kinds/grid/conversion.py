"""Arrays and tensors as `Grid`."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from staf.kinds.grid.signal import Grid
from staf.kinds.plain_arrays import plain_array

LAYOUTS: dict[str | None, bool | None] = {
    None: None,
    "channels-last": True,
    "channels-first": True,
    "no-channels": False,
}


def grid_from(source: object, name: str | None, layout: str | None) -> Grid | None:
    """A numpy array or a tensor as a grid; None for anything else.

    >>> import torch
    >>> grid_from(torch.zeros(9, 4, 6, 8), "t", "channels-first")
    Grid('t', 4x6x8, 9 channels, float32)
    """
    if isinstance(source, Tensor):
        source = plain_array(source, "a grid")
    if not isinstance(source, np.ndarray):
        return None
    array = np.moveaxis(source, 0, -1) if layout == "channels-first" else source
    return Grid(array, channels=LAYOUTS[layout], name="grid" if name is None else name)
