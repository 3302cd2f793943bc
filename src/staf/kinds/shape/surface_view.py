"""What meshes and point clouds share where they are shown: a fitted surface is written as a mesh or as a picture."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from staf._documents import Entries
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.mesh_writing import WRITERS
from staf.kinds.shape.options import PICTURES
from staf.kinds.shape.signal import Shape
from staf.reports.embedding import picture_uri
from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.view import View

S = TypeVar("S", bound=Signal)


class SurfaceView(View[S]):
    """What is shown of a signal whose field has a surface."""

    # Its share of the volume says more than an error over mostly empty space.
    main_measure = "iou"

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """Where the grid of the signal lies."""

    @property
    def suffix(self) -> str:
        return ".ply"

    def suffixes(self) -> tuple[str, ...]:
        return tuple(WRITERS)

    def rendered_suffixes(self) -> tuple[str, ...]:
        return self.suffixes() + PICTURES

    def render_points(self, how: Entries, convention: Convention) -> int:
        return math.prod(self.frame.counts(how.get("resolution")))

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        """A mesh; or, where the suffix is that of a picture, a shaded one with the arguments of `Shape.picture` in
        `how["camera"]`."""
        arguments = {name: value for name, value in how.items() if name != "camera"}
        shape = cast(Shape, self.signal.render(predict, convention=convention, device=device, **arguments))
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


def figures(pictures: Iterable[tuple[str, np.ndarray]]) -> str:
    """Pictures of surfaces side by side, each below its name."""
    return "".join(
        f'<figure><h3>{name}</h3><img alt="{name}" width="512" height="512" src="{picture_uri(pixels)}"></figure>'
        for name, pixels in pictures
    )
