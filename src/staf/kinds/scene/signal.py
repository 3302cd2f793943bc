"""Scene: photos with known camera poses, to which a field of density and colour is fitted."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from staf.kinds.scene import checks
from staf.kinds.scene.bounds import MISSES, box_notes
from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.occupancy import OccupancyGrid, occupancy_of
from staf.kinds.scene.opening import opened
from staf.kinds.scene.paths import PathName, check_together, chosen_cameras
from staf.kinds.scene.reading import Views
from staf.kinds.scene.rendering import draw, on_background
from staf.ops.volume_rendering import ray_box
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import Predict

if TYPE_CHECKING:
    from staf.kinds.scene.task import Radiance
    from staf.kinds.scene.view import SceneView
    from staf.kinds.shape.mesh import Mesh
    from staf.planning.situation import Rule
    from staf.training.recipe import Recipe

Network = Literal["grid", "mlp"]
# Samples of a ray along the diagonal of the box, where nothing chooses; the paper's.
RAY_SAMPLES = 1024
# Views whose cameras are kept in a file, so that it can be rendered without the photos.
KEPT_CAMERAS = 400


class Scene(Signal):
    """Photos with known camera poses: some to fit, and held-out views to measure.

    A field of a scene maps positions and unit directions (n, 6) to density and colour (n, 4). Positions span [-1, 1]
    over the box around `centre` with half side `half`, both in the units of the scene. Density is per unit of the box.

    Args:
        train: photos to fit.
        test: views to measure; without any, the first photos are measured.
        centre: the centre of the box that is fitted.
        half: half the side of this box.
        background: the colour of empty space, also behind transparent photos.
        ray_samples: samples along the diagonal of the box; by default the plan chooses.
        subpixels: rays along each side of a pixel, whose mean is its colour; by default the plan chooses.
        network: the network that the plan uses: a hash `grid` with small perceptrons, or the paper's two perceptrons
            (`mlp`) without a grid.
    """

    kind = "scene"
    in_features = 6
    out_features = 4

    def __init__(
        self,
        train: Views,
        test: Views | None = None,
        *,
        centre: Sequence[float] = (0.0, 0.0, 0.0),
        half: float = 1.0,
        background: Sequence[float] = checks.WHITE,
        ray_samples: int | None = None,
        subpixels: int | None = None,
        network: Network = "grid",
        name: str = "scene",
        source: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not len(train):
            raise SignalError("train must have at least one photo, got none")
        self._train: Views | None = train
        self.test = test if test is not None and len(test) else None
        self.centre, self.half = checks.box(centre, half)
        self.background = checks.colour(background)
        self.ray_samples = None if ray_samples is None else checks.whole("ray_samples", ray_samples)
        self.subpixels = None if subpixels is None else checks.subpixels(subpixels)
        self.network: Network = network
        self.downscale = 1
        self.skip_missing = False
        # Pixels of a training step, which decide the room for their samples; None: the least number that plans have.
        self.pixels_of_step: int | None = None
        self._kept: Cameras | None = None
        self._shape = (len(train), train.cameras.height, train.cameras.width)
        self.name, self.source, self.notes = name, source, list(notes)

    @classmethod
    def read(
        cls,
        folder: str | os.PathLike[str],
        *,
        downscale: int = 1,
        background: Sequence[float] | None = None,
        centre: Sequence[float] | None = None,
        half: float | None = None,
        max_pixels: int | None = None,
        skip_missing: bool = False,
    ) -> Scene:
        """The scene in a folder with transforms_train.json (Blender) or transforms.json (nerfstudio).

        Photos are made `downscale` times smaller on the way in, by area means. Without `centre` and `half`, Blender's
        scenes lie within 1.5 of the origin; of others the box is around the point that the cameras look at. Without
        `background`, transparent photos are put on white, and behind others is the median colour of their borders.
        A photo that does not exist is an error, unless `skip_missing` leaves its frame out.
        """
        folder = Path(folder)
        found = opened(
            folder,
            downscale=downscale,
            background=background,
            centre=centre,
            half=half,
            max_pixels=max_pixels,
            skip_missing=skip_missing,
        )
        scene = cls(**found._asdict(), name=folder.resolve().name, source=str(folder))
        scene.downscale, scene.skip_missing = downscale, skip_missing
        return scene

    def __repr__(self) -> str:
        count, height, width = self.shape
        held = "" if self.test is None else f", {len(self.test)} held out"
        empty = ", no photos" if self._train is None else ""
        return f"Scene({self.name!r}, {count} photos of {width}x{height}{held}{empty})"

    @property
    def train(self) -> Views:
        """The photos to fit."""
        if self._train is None:
            raise NoSamples(f"scene {self.name!r} was rebuilt from metadata and holds no photos: it can only render")
        return self._train

    def changed(
        self,
        *,
        centre: Sequence[float] | None = None,
        half: float | None = None,
        background: Sequence[float] | None = None,
        ray_samples: int | None = None,
        subpixels: int | None = None,
        network: Network | None = None,
    ) -> Scene:
        """The same photos with another box, background, sampling or network."""
        scene = copy.copy(self)
        scene.notes = list(self.notes)
        scene.centre, scene.half = checks.box(
            self.centre if centre is None else centre, self.half if half is None else half
        )
        if self._train is not None and (scene.centre, scene.half) != (self.centre, self.half):
            scene.notes = [note for note in self.notes if MISSES not in note]
            scene.notes += box_notes(self._train, self.test, scene.centre, scene.half)
        scene.background = self.background if background is None else checks.colour(background)
        scene.ray_samples = self.ray_samples if ray_samples is None else checks.whole("ray_samples", ray_samples)
        scene.subpixels = self.subpixels if subpixels is None else checks.subpixels(subpixels)
        scene.network = network or self.network
        return scene

    def with_views(self, views: Views) -> Scene:
        """Other pictures in the same box, such as rendered ones."""
        scene = self.with_photos(views, None)
        scene.source, scene.notes = None, []
        return scene

    def with_photos(self, train: Views, test: Views | None) -> Scene:
        """Other photos to fit and to be measured on, in the same box, such as fewer or smaller ones."""
        scene = self.changed()
        vars(scene).pop("_content", None)
        scene._train, scene.test = train, test
        scene._shape = (len(train), train.cameras.height, train.cameras.width)
        return scene

    @property
    def step(self) -> float:
        """The distance between two samples of a ray, in units of the box."""
        return 2 * math.sqrt(3) / (self.ray_samples or RAY_SAMPLES)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Photos, rows, columns."""
        return self._shape

    @property
    def nbytes(self) -> int:
        """Of what a run folder holds besides the field: the rendered views."""
        return 4 * math.prod((len(self.cameras), *self.shape[1:]))

    @property
    def value_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def cameras(self) -> Cameras:
        """The cameras that are rendered by default: those of the held-out views, or of the photos if there are none."""
        if self._kept is not None:
            return self._kept
        views = self.train if self.test is None else self.test
        return views.cameras.subset(list(range(min(len(views), KEPT_CAMERAS))))

    def in_box(self, cameras: Cameras) -> Cameras:
        """Cameras of the scene's own frame in the frame where its box is [-1, 1]^3."""
        return cameras.moved(torch.tensor(self.centre, dtype=torch.float64), self.half)

    def values(self) -> Tensor:
        """The photos' pixels (n, 3), transparent ones on the background."""
        return on_background(self.train.pixels, torch.tensor(self.background)).reshape(-1, 3)

    def coordinates(self, convention: Convention = "centres", index: Tensor | None = None) -> Tensor:
        """For each pixel (n, 6): the middle of its ray's way through the box, and its direction."""

        index = torch.arange(self.points) if index is None else index
        _, height, width = self.shape
        inside = index % (height * width)
        cameras = self.in_box(self.train.cameras)
        rows, columns = inside // width + 0.5, inside % width + 0.5
        origin, direction = cameras.rays(index // (height * width), rows, columns)
        near, far = ray_box(origin, direction)
        return torch.cat([(origin + ((near + far) / 2)[:, None] * direction).clamp(-1, 1), direction], -1)

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        """Lengths of the scene in one unit of each position; directions are unit vectors."""
        return (self.half,) * 3 + (1.0,) * 3

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Scene:
        """The scene whose photos have the colours `values` (n, 3), between 0 and 1, and this one's cameras."""
        shape = self.shape if shape is None else tuple(shape)
        if tuple(shape) != self.shape or tuple(values.shape) != (self.points, 3):
            raise SignalError(f"values must have shape {(self.points, 3)}, got {tuple(values.shape)} for {shape}")
        pixels = (values.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8).reshape(*self.shape, 3)
        return self.with_views(Views(self.train.names, pixels, self.train.cameras))

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Scene:
        raise SignalError("a scene holds photos of 8 bits, and no values between them")

    def empty(self, shape: Sequence[int] | None = None) -> Scene:
        if shape is not None and tuple(shape) != self.shape:
            raise SignalError(f"a scene has the size of its photos, {self.shape}, got {tuple(shape)}")
        return super().empty()

    @cached_property
    def _content(self) -> str | None:
        """What the photos and their cameras are, in a few letters."""
        return None if self._train is None else self._train.digest()

    def metadata(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "shape": list(self.shape),
            "centre": list(self.centre),
            "half": self.half,
            "background": list(self.background),
            "ray_samples": self.ray_samples or RAY_SAMPLES,
            # Left out where it is what it was before files had it.
            **({"subpixels": self.subpixels} if (self.subpixels or 1) > 1 else {}),
            "network": self.network,
            "cameras": self.cameras.to_plain(),
            "content": self._content,
            "notes": list(self.notes),
        }

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Scene:
        """The empty scene that `metadata` describes: its box and the cameras it was measured with, without photos."""
        try:
            if metadata["kind"] != cls.kind:
                raise SignalError(f"metadata must be of kind 'scene', got {metadata['kind']!r}")
            count, height, width = (checks.whole("shape", int(size)) for size in metadata["shape"])
            cameras = Cameras.from_plain(metadata["cameras"])
            scene = cls.__new__(cls)
            scene.centre, scene.half = checks.box(metadata["centre"], metadata["half"])
            scene.background = checks.colour(metadata["background"])
            scene.ray_samples = checks.whole("ray_samples", metadata["ray_samples"])
            # Files that were written before pixels had more rays have one.
            scene.subpixels = checks.subpixels(metadata.get("subpixels", 1))
            scene.network = "mlp" if metadata["network"] == "mlp" else "grid"
            scene.name, scene.notes = str(metadata["name"]), [str(note) for note in metadata["notes"]]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, SignalError):
                raise
            raise SignalError(f"metadata of a scene is incomplete or malformed: {error!r}") from error
        scene._train, scene.test, scene.source, scene.downscale, scene.skip_missing = None, None, None, 1, False
        scene._shape, scene._kept = (count, height, width), cameras
        return scene

    def render(
        self,
        predict: Predict,
        *,
        path: PathName | Cameras | None = None,
        frames: int | None = None,
        size: tuple[int, int] | None = None,
        views: Sequence[int] | None = None,
        subpixels: int | None = None,
        convention: Convention = "centres",
        device: torch.device | str | None = None,
    ) -> Scene:
        """What cameras see of the field `predict`, (n, 6) to (n, 4), with depths in the scene's own units.

        Args:
            path: cameras in the scene's own frame, or "orbit", a closed path around it; by default the held-out views.
            frames: of an orbit; 120 by default.
            size: (width, height) of the pictures; by default that of the photos.
            views: only these of the held-out views, counted from 0.
            subpixels: rays along each side of a pixel; by default as in the fit.
        """
        cameras = chosen_cameras(self.cameras, path, frames=frames, size=size, views=views, towards=self.centre)
        check_together(cameras)
        drawn = draw(self, predict, cameras, subpixels=subpixels, device=device)
        pictures, depths = zip(*drawn, strict=True)
        names = [f"view {i}" for i in range(len(cameras))]
        return self.with_views(Views(names, torch.stack(pictures), cameras, torch.stack(depths)))

    def occupancy(self, predict: Predict, device: torch.device | str) -> OccupancyGrid:
        """The occupied cells of the box."""
        from staf.kinds.scene.updates import density_of

        return occupancy_of(lambda points: density_of(predict, points), step=self.step, device=device)

    def mesh(
        self,
        predict: Predict,
        *,
        resolution: int | None = None,
        level: float | None = None,
        device: torch.device | str | None = None,
    ) -> Mesh:
        """The surface of the scene, in the units of the scene; see `staf.kinds.scene.surface`."""
        from staf.kinds.scene.surface import surface_of

        return surface_of(self, predict, resolution=resolution, level=level, device=device)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """The photos as bytes, (v, h, w, c)."""
        return as_array(self.train.pixels.numpy(), dtype, copy)

    def task(self, convention: Convention = "centres") -> Radiance:
        from staf.kinds.scene.task import Radiance

        return Radiance(self)

    def as_planned(self, recipe: Recipe) -> Scene:
        """The same with the recipe's rays of a pixel and samples of a ray, where their numbers are open."""
        planned = self.changed(
            subpixels=self.subpixels or recipe.subpixels, ray_samples=self.ray_samples or recipe.ray_samples
        )
        planned.pixels_of_step = recipe.batch
        return planned

    def plan_rules(self) -> Mapping[str, Rule | None]:
        """The changes of this kind of signal to the rules of planning, by topic."""
        from staf.kinds.scene.plan import rules

        return rules(self.network)

    @property
    def view(self) -> SceneView:
        from staf.kinds.scene.view import SceneView

        return SceneView(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the pictures: PNG, JPEG, TIFF or WebP (several on one sheet), GIF or MP4 (as a video), or NPZ.

        An NPZ has `pixels`, `poses`, `focal`, `centre`, `distortion` of a lens and, of rendered views, `depths`.
        """
        from staf.kinds.scene.writing import write_views

        return write_views(self.train, path)


def read_scene(path: Path, limit: int) -> Scene:
    """The scene in a folder, of at most `limit` pixels."""
    return Scene.read(path, max_pixels=limit)
