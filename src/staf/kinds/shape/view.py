"""How shapes are shown: surfaces from one side in the report, vertices and faces in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from staf._documents import Document, Entries
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.measures import distances
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.picture import CLAY, FILLED, camera_of, draw, look, magnification, paint
from staf.kinds.shape.signal import Shape
from staf.kinds.shape.surface_view import SurfaceView, figures
from staf.reports.embedding import round_ceiling
from staf.signals.grid import Convention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The surface of an occupancy, as `Shape.render` has it.
LEVEL = 0.5
# The colour of a surface that is far from the target's.
WRONG = (0.80, 0.10, 0.05)


class ShapeView(SurfaceView[Shape]):
    """What is shown of a shape."""

    noun = "shape"
    default_task = "occupancy"

    @property
    def frame(self) -> Frame:
        return self.signal.frame

    def page(self, convention: Convention) -> Document:
        """A surface; a point of the original is scale * coordinate + shift."""
        return {"type": "surface", "level": LEVEL, "axes": ["x", "y", "z"], **self.frame.placed(convention)}

    def comparison(self, reconstructions: Mapping[str, Shape]) -> Figure:
        from staf.kinds.shape.figure import shape_comparison

        return shape_comparison(self.signal, reconstructions)

    def report_section(self, reconstruction: Shape) -> str:
        """The target's surface, the fitted one, and this one painted by its distance to the target, from one side."""
        target = self.signal
        how = framed(target.mesh)
        voxel = 2 * target.frame.half / target.resolution
        error = distances(reconstruction.mesh.vertices, target.mesh)[0] / voxel
        most = max(round_ceiling(float(np.quantile(error, 0.99))), 1e-3)
        share = np.minimum(error / most, 1.0)[:, None]
        painted = (1 - share) * np.array(CLAY) + share * np.array(WRONG)
        seen = look(reconstruction.mesh, **how)
        pictures = (
            ("Target", draw(target.mesh, **how)),
            ("Reconstruction", paint(reconstruction.mesh, seen)),
            ("Error", paint(reconstruction.mesh, seen, painted)),
        )
        return (
            '<section><h2>Look closer</h2><p class="explain">Error: the distance of the fitted surface to the target, '
            f"grey where it is zero, red where it is {most:.3g} voxels of the target's grid or more.</p>"
            f'<div class="trio shapes">{figures(pictures)}</div></section>'
        )

    def command_options(self, metadata: Entries) -> list[str] | None:
        words = ["--resolution", str(self.signal.resolution)]
        words += ["--repair"] * self.signal.mended + ["--allow-open"] * self.signal.allow_open
        sampling = metadata.get("sampling")
        if sampling is None:
            return words
        # The command draws voxels from the seed of the fit.
        if sampling["seed"] != metadata["seed"]:
            return None
        return [*words, "--near-surface", f"{sampling['near_surface']:g}", "--band", str(sampling["band"])]

    def python(self, metadata: Entries) -> str:
        shape = self.signal
        opened = "your_signal"
        if shape.source is not None:
            opened = f"staf.open({shape.source!r})" + ".repaired()" * shape.mended
        opened += f".sampled({shape.resolution}{', allow_open=True' * shape.allow_open})"
        sampling = metadata.get("sampling")
        if sampling is None:
            return opened
        generator = f"torch.Generator().manual_seed({sampling['seed']})"
        how = f"near_surface={sampling['near_surface']}, band={sampling['band']}, generator={generator}"
        return f"staf.Occupancy({opened}, {metadata['convention']!r}, {how})"


def framed(mesh: Mesh) -> Document:
    """The arguments of `draw` with which a mesh fills its picture, whatever its box: a ball's is larger than itself.

    >>> picture = draw(Shape.sphere(subdivisions=3).mesh, size=64, **framed(Shape.sphere(subdivisions=3).mesh))
    >>> int(picture[..., 3].any(1).sum()) >= 58
    True
    """
    low, high = mesh.bounds
    camera = camera_of(*(signature(draw).parameters[name].default for name in ("azimuth", "elevation", "up")))
    seen = mesh.vertices @ camera.T
    lowest, highest = seen.min(0), seen.max(0)
    zoom = FILLED / (max(float((highest - lowest)[:2].max()), 1e-300) * magnification(low, high, camera))
    return {"bounds": (low, high), "zoom": zoom, "look_at": (lowest + highest) / 2 @ camera}
