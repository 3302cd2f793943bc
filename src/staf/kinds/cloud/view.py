"""How point clouds are shown: the fitted surface from two sides in the report, vertices and faces in the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from staf._documents import Document, Entries
from staf.kinds.cloud.signal import PointCloud
from staf.kinds.shape.mesh_writing import WRITERS
from staf.kinds.shape.options import PICTURES
from staf.kinds.shape.picture import draw
from staf.kinds.shape.signal import Shape
from staf.reports.embedding import picture_uri
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.view import View

# Degrees around the upward axis from which the report shows a surface.
SIDES = {"From the front": 30.0, "From behind": 210.0}


class CloudView(View[PointCloud]):
    """What is shown of a point cloud."""

    noun = "cloud"
    default_task = "signed_distance"
    main_measure = "iou"

    @property
    def suffix(self) -> str:
        return ".ply"

    def suffixes(self) -> tuple[str, ...]:
        return tuple(WRITERS)

    def rendered_suffixes(self) -> tuple[str, ...]:
        return self.suffixes() + PICTURES

    def page(self, convention: Convention) -> Document:
        """A surface; a point of the cloud's frame is scale * coordinate + shift."""
        place = {**self.signal.frame.placed(convention), "shape": [self.signal.resolution] * 3}
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
        figures = "".join(
            f'<figure><h3>{name}</h3><img alt="{name}" width="512" height="512" '
            f'src="{picture_uri(draw(reconstruction.mesh, azimuth=azimuth))}"></figure>'
            for name, azimuth in SIDES.items()
        )
        return f'<section><h2>Look closer</h2><div class="pair shapes">{figures}</div></section>'

    def command_options(self, metadata: Entries) -> list[str] | None:
        cloud = self.signal
        if cloud.drawn_from is not None:
            # The command draws places on a mesh from the seed of the fit.
            return ["--signed-distance"] if cloud.drawn_from[1] == metadata["seed"] else None
        return ["--estimate-normals"] * cloud.estimated + ["--resolution", str(cloud.resolution)]

    def python(self, metadata: Entries) -> str:
        cloud = self.signal
        if cloud.source is None:
            return "your_signal"
        opened = f"staf.open({cloud.source!r})"
        if cloud.drawn_from is not None:
            count, seed = cloud.drawn_from
            return f"staf.SignedDistance(staf.PointCloud.sampled({opened}, {count}, seed={seed}))"
        opened += ".with_estimated_normals()" * cloud.estimated
        return f"{opened}.at_resolution({cloud.resolution})"

    def render_points(self, how: Entries, convention: Convention) -> int:
        return math.prod(self.signal.frame.counts(how.get("resolution")))

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        """A mesh; or, where the suffix is that of a picture, a shaded one with the arguments in `how["camera"]`."""
        arguments = {name: value for name, value in how.items() if name != "camera"}
        shape = self.signal.render(predict, convention=convention, device=device, **arguments)
        if path.suffix.lower() in PICTURES:
            picture = shape.picture(**how.get("camera", {}))
            picture.save(path)
            return {"width": picture.width, "height": picture.height}
        shape.save(path)
        return {"vertices": len(shape.mesh.vertices), "faces": len(shape.mesh.faces)}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        if "width" in size:
            return f"{size['width']}x{size['height']} pixels"
        return super().size_in_words(size)
