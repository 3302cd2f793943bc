"""The surface of a field, plane by plane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from staf.kinds.shape.frame import Frame
from staf.kinds.shape.marching import march
from staf.kinds.shape.mesh import Mesh
from staf.signals import grid
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import Predict

# Points asked of a field at once.
POINTS = 2**20


def field_planes(
    predict: Predict, frame: Frame, counts: tuple[int, int, int], convention: Convention = "centres"
) -> Iterator[np.ndarray]:
    """The field's values on the planes of a grid of `counts` samples over the kept box, float32 (b, c) each."""
    axes = [grid.window(size, 0, size, count, convention) for size, count in zip(frame.shape, counts, strict=True)]
    _, b, c = counts
    rest = torch.cartesian_prod(axes[1], axes[2]).reshape(b * c, 2)
    together = max(1, POINTS // (b * c))
    for start in range(0, counts[0], together):
        first = axes[0][start : start + together]
        parts = []
        for begin in range(0, b * c, POINTS):
            plane = rest[begin : begin + POINTS]
            points = torch.cat([first.repeat_interleave(len(plane))[:, None], plane.repeat(len(first), 1)], dim=1)
            with torch.no_grad():
                values = predict(points)
            if values.ndim != 2 or tuple(values.shape) != (len(points), 1):
                raise SignalError(f"predict must return ({len(points)}, 1) values, got {tuple(values.shape)}")
            parts.append(values.detach().to("cpu", torch.float32).reshape(len(first), len(plane)))
        yield from torch.cat(parts, dim=1).reshape(len(first), b, c).numpy()


def surface(
    planes: Iterable[np.ndarray],
    frame: Frame,
    counts: tuple[int, int, int],
    convention: Convention,
    level: float = 0.5,
) -> Mesh:
    """The surface at `level` of planes over the kept box, in the mesh's frame."""
    lowest, highest = np.inf, -np.inf

    def watched() -> Iterator[np.ndarray]:
        nonlocal lowest, highest
        for plane in planes:
            lowest, highest = min(lowest, float(plane.min())), max(highest, float(plane.max()))
            if not np.isfinite(lowest + highest):
                raise SignalError("the field's values must be numbers, got NaN or infinity")
            yield plane

    mesh = march(watched(), level)
    if mesh is None:
        within = f"lie between {lowest:.3g} and {highest:.3g}" if lowest < highest else f"are all {lowest:.3g}"
        raise SignalError(f"the field has no surface at {level:g}: its values {within}; fit it longer")
    return Mesh(frame.from_samples(mesh.vertices, counts, convention), mesh.faces)
