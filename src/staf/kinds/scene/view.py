"""How scenes are shown: held-out views beside their photos in the report, pictures, films and meshes from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from staf._documents import Document
from staf.kinds.image.pictures import Pictures, views_of
from staf.kinds.image.view import look_closer, notebook_row
from staf.kinds.scene.background import background_of
from staf.kinds.scene.cameras import Cameras, nearest_to_axes, upwards
from staf.kinds.scene.checks import BACKGROUNDS
from staf.kinds.scene.formats import ARRAYS, FILMS, MESHES, PICTURES
from staf.kinds.scene.paths import chosen_cameras
from staf.kinds.scene.reading import Views, read_cameras
from staf.kinds.scene.rendering import draw, on_background
from staf.kinds.scene.signal import Scene
from staf.kinds.scene.writing import ONE_BY_ONE, write_one_by_one, write_views
from staf.metrics import lpips
from staf.metrics.lpips import load_lpips
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.view import View

# Cameras that a page can look through.
PAGE_CAMERAS = 48
# Views that a report shows, spread evenly over all.
MOST_SHOWN = 6
# Rays whose samples are about this many points of the field, for the progress of a rendering.
POINTS_PER_RAY = 24


class SceneView(View[Scene]):
    """What is shown of a scene."""

    noun = "scene"
    default_task = "radiance"

    @property
    def suffix(self) -> str:
        return ".png"

    def suffixes(self) -> tuple[str, ...]:
        return (*PICTURES, *FILMS, *ARRAYS)

    def rendered_suffixes(self) -> tuple[str, ...]:
        return (*self.suffixes(), *MESHES)

    def exported_suffixes(self) -> tuple[str, ...]:
        return self.rendered_suffixes()

    @property
    def measured_over(self) -> str:
        views = len(measured_views(self.signal))
        held = "held-out views" if self.signal.test is not None else "of the photos that were fitted"
        return f"{views} {held}"

    def page(self, convention: Convention) -> Document:
        """Cameras, in the frame of the box, spread evenly over those that are kept."""
        scene, count = self.signal, len(self.signal.cameras)
        cameras = scene.in_box(scene.cameras)
        chosen = cameras.subset([i * count // min(count, PAGE_CAMERAS) for i in range(min(count, PAGE_CAMERAS))])
        photos, height, width = scene.shape
        return {
            "type": "scene",
            "cameras": chosen.to_plain(),
            "background": list(scene.background),
            "step": scene.step,
            "up": upwards(cameras).tolist(),
            "middle": nearest_to_axes(cameras).clamp(-1, 1).tolist(),
            "words": f"Scene of {photos} photos of {width} × {height}",
            "sentences": [
                "6 coordinates: a position in [-1, 1]^3, and the unit vector of the direction in which it is seen.",
                f"Position p is centre + half p in the scene's own units, half {scene.half:g}, centre {scene.centre}.",
                "4 values: density per unit of position, then red, green and blue in [0, 1].",
            ],
        }

    def report_section(self, reconstruction: Scene) -> str:
        """Photos of held-out views, what the field shows there, and the error, under one magnifier."""
        found = self._pictures(reconstruction, MOST_SHOWN)
        return "" if found is None else look_closer(found)

    def notebook_figures(self, reconstruction: Scene) -> str:
        found = self._pictures(reconstruction, 1)
        return "" if found is None else notebook_row(found)

    def _pictures(self, reconstruction: Scene, most: int) -> Pictures | None:
        """Photos and rendered pictures of some views; None where there are no photos to compare with."""
        shown = reconstruction.train
        photos = measured_views(self.signal)
        if len(photos) != len(shown) or photos.pixels.shape[1:3] != shown.pixels.shape[1:3]:
            return None
        chosen = np.unique(np.linspace(0, len(shown) - 1, min(most, len(shown))).round().astype(int)).tolist()
        places = []
        for view in chosen:
            places.append((photos.names[view], self._photo(photos, view), shown.pixels[view].numpy()))
        held = "held out" if self.signal.test is not None else "fitted"
        return views_of(places, f"a view that was {held}")

    def picture(self, reconstruction: Scene | None = None) -> np.ndarray:
        """The first view that is measured."""
        if reconstruction is not None:
            return reconstruction.train.pixels[0].numpy()
        return self._photo(measured_views(self.signal), 0)

    def _photo(self, views: Views, view: int) -> np.ndarray:
        """A photo on the background, (h, w, 3), as bytes."""
        colours = on_background(views.pixels[view], torch.tensor(self.signal.background))
        return (colours * 255).round().to(torch.uint8).numpy()

    def more_measures(
        self, predict: Predict, convention: Convention, saved: Path | None
    ) -> dict[str, Callable[[], float]]:
        """LPIPS, the mean over the views that the other measures are of."""
        return {"lpips": lambda: self._lpips(predict)}

    def _lpips(self, predict: Predict) -> float:
        # The weights first: without them there is no use in rendering.
        model = load_lpips()
        scene, views = self.signal, measured_views(self.signal)
        background = torch.tensor(scene.background)
        total = 0.0
        for view in range(len(views)):
            shown = scene.render(predict, path=views.cameras.subset([view]), device=_device_of(predict))
            found, target = shown.train.pixels[0].float() / 255, on_background(views.pixels[view], background)
            with torch.no_grad():
                total += float(lpips(found, target, data_range=1.0, model=model))
        return total / len(views)

    def command_options(self, metadata: Mapping[str, Any]) -> list[str] | None:
        scene = self.signal
        names = {colour: name for name, colour in BACKGROUNDS.items()}
        if scene.source is None or not Path(scene.source).is_dir():
            return None
        if scene.background not in names and scene.background != background_of(scene.train.pixels)[0]:
            return None
        words = ["--downscale", str(scene.downscale)] if scene.downscale > 1 else []
        words += ["--skip-missing"] if scene.skip_missing else []
        words += ["--background", names[scene.background]] if scene.background in names else []
        words += ["--network", scene.network, "--half", repr(scene.half)]
        words += ["--centre", *(repr(value) for value in scene.centre)]
        words += ["--ray-samples", str(scene.ray_samples)] if scene.ray_samples is not None else []
        words += ["--subpixels", str(scene.subpixels)] if scene.subpixels is not None else []
        return words

    def python(self, metadata: Mapping[str, Any]) -> str:
        scene = self.signal
        if scene.source is None:
            return "your_signal"
        changes = f"centre={scene.centre}, half={scene.half!r}, background={scene.background}"
        changes += f", ray_samples={scene.ray_samples}, subpixels={scene.subpixels}, network={scene.network!r}"
        opened = f"downscale={scene.downscale}" + (", skip_missing=True" if scene.skip_missing else "")
        return f"staf.Scene.read({scene.source!r}, {opened}).changed({changes})"

    def finish_work(self) -> tuple[str, int]:
        views, side = measured_views(self.signal), self.signal.subpixels or 1
        return f"{len(views)} views are rendered", views.pixels[..., 0].numel() * side**2 * POINTS_PER_RAY

    def render_points(self, how: Mapping[str, Any], convention: Convention) -> int:
        if set(how) & {"resolution", "level"}:
            return self.signal.points
        cameras, side = self._cameras(how), how.get("subpixels") or self.signal.subpixels or 1
        return len(cameras) * cameras.height * cameras.width * side**2 * POINTS_PER_RAY

    def write(
        self, predict: Predict, path: Path, how: Mapping[str, Any], *, convention: Convention, device: str
    ) -> dict[str, int]:
        """Pictures of the cameras that `how` names, or a mesh where the suffix is that of one."""
        if path.suffix.lower() in MESHES:
            from staf.kinds.shape.mesh_writing import write_mesh

            mesh = self.signal.mesh(predict, device=device, **how)
            write_mesh(mesh, path)
            return {"vertices": len(mesh.vertices), "faces": len(mesh.faces)}
        if "resolution" in how:
            raise SignalError(f"resolution is of a mesh, and {path.name!r} is none")
        cameras = self._cameras(how)
        depth, subpixels = bool(how.get("depth")), how.get("subpixels")
        if path.suffix.lower() == ONE_BY_ONE and not depth:
            drawn = draw(self.signal, predict, cameras, subpixels=subpixels, device=device)
            write_one_by_one(drawn, path, len(cameras))
        else:
            shown = self.signal.render(predict, path=cameras, subpixels=subpixels, device=device)
            write_views(shown.train, path, depth=depth)
        # The sides of an MP4 are even.
        odd = 2 if path.suffix.lower() == ONE_BY_ONE else 1
        width, height = (side - side % odd for side in (cameras.width, cameras.height))
        return {"views": len(cameras), "width": width, "height": height}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        if "views" not in size:
            return super().size_in_words(size)
        many = "1 view" if size["views"] == 1 else f"{size['views']} views"
        return f"{many} of {size['width']}x{size['height']} pixels"

    def _cameras(self, how: Mapping[str, Any]) -> Cameras:
        given: Any = how.get("path")
        if how.get("camera") is not None:
            _, height, width = self.signal.shape
            given = read_cameras(Path(how["camera"]), height=height, width=width)
        chosen = {name: how.get(name) for name in ("frames", "size", "views")}
        return chosen_cameras(self.signal.cameras, given, **chosen, towards=self.signal.centre)


def measured_views(scene: Scene) -> Views:
    """The views that the measures of a fit are of."""
    from staf.kinds.scene.task import MEASURED

    return scene.train.first(MEASURED) if scene.test is None else scene.test


def _device_of(predict: Predict) -> torch.device | None:
    """The device that a fitted field is on, where `predict` is its own."""
    module = getattr(getattr(predict, "__self__", None), "module", None)
    first = None if module is None else next(module.parameters(), None)
    return None if first is None else first.device
