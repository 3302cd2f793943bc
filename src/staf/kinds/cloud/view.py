"""How point clouds are shown: the fitted surface from two sides in the report, vertices and faces in the terminal."""

from __future__ import annotations

from staf._documents import Document, Entries
from staf.kinds.cloud.signal import RESOLUTION, PointCloud
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.picture import draw
from staf.kinds.shape.signal import Shape
from staf.kinds.shape.surface_view import SurfaceView, figures
from staf.signals.grid import Convention

# Degrees around the upward axis from which the report shows a surface.
SIDES = {"From the front": 30.0, "From behind": 210.0}


class CloudView(SurfaceView[PointCloud]):
    """What is shown of a point cloud."""

    noun = "cloud"
    default_task = "signed_distance"

    @property
    def frame(self) -> Frame:
        return self.signal.frame

    def page(self, convention: Convention) -> Document:
        """A surface; a point of the cloud's frame is scale * coordinate + shift."""
        place = {**self.frame.placed(convention), "shape": [self.signal.resolution] * 3}
        return {
            "type": "surface",
            "level": 0.0,
            "inside": "below",
            "axes": ["x", "y", "z"],
            **place,
            "words": f"Surface through {self.signal.shape[0]:,} points",
            "sentences": [
                f"3 coordinates in [-1, 1]; x, y, z of a point are {place['scale']} times them plus {place['shift']}.",
                "1 value: the signed distance to the surface in the cloud's own units, negative inside.",
            ],
        }

    def report_section(self, reconstruction: PointCloud | Shape) -> str:
        """The fitted surface, drawn from two sides."""
        if not isinstance(reconstruction, Shape):
            return ""
        sides = ((name, draw(reconstruction.mesh, azimuth=azimuth)) for name, azimuth in SIDES.items())
        return f'<section><h2>Look closer</h2><div class="pair shapes">{figures(sides)}</div></section>'

    def command_options(self, metadata: Entries) -> list[str] | None:
        cloud = self.signal
        if cloud.drawn_from is not None:
            # The command draws places on a mesh from the seed of the fit.
            if cloud.drawn_from[1] != metadata["seed"]:
                return None
            words = ["--signed-distance"] + ["--resolution", str(cloud.resolution)] * (cloud.resolution != RESOLUTION)
            return [*words, *["--repair"] * cloud.mended, *["--allow-open"] * cloud.allow_open]
        return ["--estimate-normals"] * cloud.estimated + ["--resolution", str(cloud.resolution)]

    def python(self, metadata: Entries) -> str:
        cloud = self.signal
        if cloud.source is None:
            return "your_signal"
        opened = f"staf.open({cloud.source!r})"
        if cloud.drawn_from is not None:
            count, seed = cloud.drawn_from
            opened += ".repaired()" * cloud.mended
            how = f"{count}, seed={seed}, resolution={cloud.resolution}"
            return f"staf.SignedDistance(staf.PointCloud.sampled({opened}, {how}))"
        opened += ".with_estimated_normals()" * cloud.estimated
        return f"{opened}.at_resolution({cloud.resolution})"
