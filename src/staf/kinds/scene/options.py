"""What the command line asks about scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from staf.kinds.options import Count, ExportKind, FitKind, Flag, Number, RenderKind
from staf.kinds.scene.checks import BACKGROUNDS
from staf.kinds.scene.formats import FILMS, MESHES
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene
    from staf.signals.base import Signal
    from staf.signals.grid import Convention

Background = Annotated[Literal["auto", "white", "black"], arg(help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Opened(FitKind):
    """How the folder of a scene is opened."""

    downscale: Count = None
    """Reduce photos by this factor before the fit."""
    background: Background = "auto"
    """The colour behind transparent photos and in empty space. auto (default): white; for opaque photos, the colour
    that most of their borders have."""
    network: Annotated[Literal["grid", "mlp"], arg(help_behavior_hint="")] = "grid"
    """grid (default): a hash grid with small perceptrons; mlp: the paper's two perceptrons without a grid."""
    centre: Annotated[tuple[float, float, float] | None, arg(metavar="X Y Z", help_behavior_hint="")] = None
    """Centre of the box that is fitted, in the units of the scene (default: where the cameras look)."""
    half: Number = None
    """Half the side of the box that is fitted, in the units of the scene (default: 1.5, or from the cameras)."""
    ray_samples: Count = None
    """Number of samples along the diagonal of the box (default: about one per pixel, up to 1024)."""
    subpixels: Count = None
    """Rays along each side of a pixel; their mean is its colour (default: 2 in long fits on a GPU, otherwise 1)."""
    skip_missing: Flag = False
    """Leave out frames whose photos do not exist, which is an error otherwise."""
    max_pixels: Count = None
    """Refuse scenes whose photos together have more pixels than this, after --downscale."""

    def open(self, path: Path) -> Scene:
        from staf.kinds import open as open_signal
        from staf.kinds.registry import kind_of_folder

        if not path.is_dir() or kind_of_folder(path) is None:
            # Not the folder of a scene, and refused as such.
            return open_signal(path, kind="scene")
        from staf.kinds.scene.signal import Scene

        try:
            scene = Scene.read(
                path,
                downscale=1 if self.downscale is None else self.downscale,
                background=BACKGROUNDS.get(self.background),
                centre=self.centre,
                half=self.half,
                max_pixels=self.max_pixels,
                skip_missing=self.skip_missing,
            )
        except (OSError, ValueError) as error:
            raise SignalError(f"cannot open {str(path)!r}: {error}") from error
        return scene.changed(ray_samples=self.ray_samples, subpixels=self.subpixels, network=self.network)


@dataclass(frozen=True, kw_only=True)
class Fit(Opened):
    """Fit density and colour to a folder of photos with known camera poses.

    FILE is a folder with transforms_train.json (Blender) or transforms.json (nerfstudio). The folder
    (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.png with the held-out views,
    history.csv, metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """

    def resume_hint(self) -> str | None:
        return (
            "the interrupted fit was started with other photos or cameras: give the same folder, and --downscale, "
            "--skip-missing, --background, --centre, --half, --ray-samples, --subpixels and --network as they were then"
        )


@dataclass(frozen=True, kw_only=True)
class Compare(Opened):
    """Fit several networks to a scene with the same budget, and compare their held-out views.

    The folder (runs/NAME-compare unless --out names another) gets comparison.png, comparison.md and results/ with a
    file for each network. Ctrl-C keeps finished networks; --resume continues with the others.
    """


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Render a fitted scene from any camera: as a picture, a video or arrays; or its surface, as a mesh.

    By default the held-out views are rendered. The suffix of --out decides: .mp4 or .gif for a video, .npz for arrays
    with depths, and .ply, .obj, .stl, .glb or .off for a mesh in the units of the scene.
    """

    path: Annotated[Literal["orbit"] | None, arg(metavar="orbit", help_behavior_hint="")] = None
    """orbit: a closed path around the scene."""
    camera: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """A transforms.json with the poses to render."""
    frames: Count = None
    """Number of frames of an orbit (default: 120)."""
    size: Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")] = None
    """Width and height of the pictures (default: those of the photos)."""
    views: Annotated[str | None, arg(metavar="I,J", help_behavior_hint="")] = None
    """Render only these held-out views, counted from 0."""
    subpixels: Count = None
    """Rays along each side of a pixel; their mean is its colour (default: as in the fit; 1 is fastest)."""
    depth: Flag = False
    """Render the depth instead of the colour: white is near, black is empty."""
    resolution: Count = None
    """For a mesh: voxels along a side of the box (default: 256)."""
    level: Number = None
    """For a mesh: the share of light absorbed over 1/16 of the box's side, at the surface (default: 0.5)."""

    def how(self, out: Path | None) -> dict[str, Any]:
        of_mesh = {"resolution": self.resolution, "level": self.level}
        of_pictures = {
            "path": self.path,
            "camera": self.camera,
            "frames": self.frames,
            "size": parse_size(self.size),
            "views": parse_views(self.views),
            "subpixels": self.subpixels,
            "depth": self.depth or None,
        }
        is_mesh = out is not None and out.suffix.lower() in MESHES
        for name, value in (of_pictures if is_mesh else of_mesh).items():
            if value is not None:
                wanted = "a picture or a film" if is_mesh else f"a mesh, which ends in {', '.join(MESHES)}"
                raise SignalError(f"--{name} is of {wanted}: name one with --out")
        if self.path is not None and self.camera is not None:
            raise SignalError("--path and --camera both say where the camera is: give one of them")
        chosen = of_mesh if is_mesh else of_pictures
        return {name: value for name, value in chosen.items() if value is not None}

    def ending(self, signal: Signal, how: dict[str, Any], convention: Convention) -> str:
        depth = "-depth" if how.get("depth") else ""
        if how.get("path") is None:
            return f"{depth or '-views'}.png"
        return f"-{how['path']}{depth}{_film()}"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted scene as a mesh (PLY, OBJ, STL, GLB, OFF) in its own units, or its held-out views as pictures.

    FIELD is the file of a field or a run folder.
    """

    resolution: Count = None
    """For a mesh: voxels along a side of the box (default: 256)."""

    def how(self) -> dict[str, Any]:
        return {} if self.resolution is None else {"resolution": self.resolution}


def parse_size(text: str | None) -> tuple[int, int] | None:
    """Width and height.

    >>> parse_size("640x480")
    (640, 480)
    """
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise SignalError(f"--size must be WIDTHxHEIGHT, such as 640x480, got {text!r}")
    return int(parts[0]), int(parts[1])


def parse_views(text: str | None) -> list[int] | None:
    """Numbers of views.

    >>> parse_views("0,3")
    [0, 3]
    """
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise SignalError(f"--views must be whole numbers with commas between them, such as 0,3, got {text!r}")
    return [int(part) for part in parts]


def _film() -> str:
    """MP4 where it can be written."""
    from importlib.util import find_spec

    return FILMS[0] if find_spec("av") is not None else FILMS[1]
