"""Scenes as experiments use them: folders of posed photos, or packed arrays where no picture library is installed.

python -m paper.data.scenes nerf_synthetic/lego lego.npz --downscale 2
"""

from __future__ import annotations

import argparse
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.data.packed import packed_arrays_of
from paper.runner.experiment import write_arrays
from paper.runner.options import count

if TYPE_CHECKING:
    from staf.kinds.scene.reading import Views
    from staf.kinds.scene.signal import Scene

SIDE = 10


def pack_scene(scene: Scene, path: Path) -> None:
    """Write the photos, cameras and box of a scene as `.npz`."""
    views = {name: found for name, found in (("train", scene.train), ("test", scene.test)) if found is not None}
    about: dict[str, Any] = {
        name: {"names": found.names, "cameras": found.cameras.to_plain()} for name, found in views.items()
    }
    about["box"] = {"centre": list(scene.centre), "half": scene.half}
    arrays = {name: found.pixels.numpy() for name, found in views.items()}
    write_arrays(path, {**arrays, "about": np.frombuffer(json.dumps(about).encode(), np.uint8)})


@lru_cache(maxsize=2)
def open_scene(path: str) -> Scene:
    """A scene from a folder, or from what `pack_scene` wrote."""
    from staf.kinds.scene.signal import Scene

    if not path.endswith(".npz"):
        try:
            return Scene.read(path)
        except ValueError as error:
            raise ValueError(f"cannot open {path!r}: {error}") from error
    file = packed_arrays_of(path, ("about", "train"), "`python -m paper.data.scenes`")
    about = json.loads(file["about"].tobytes())
    parts = {name: _views(file[name], about[name]) for name in ("train", "test") if name in about}
    return Scene(parts["train"], parts.get("test"), **about["box"], name=Path(path).stem, source=path)


def _views(pixels: np.ndarray, about: dict[str, Any]) -> Views:
    import torch

    from staf.kinds.scene.cameras import Cameras
    from staf.kinds.scene.reading import Views

    return Views([str(name) for name in about["names"]], torch.from_numpy(pixels), Cameras.from_plain(about["cameras"]))


def ball_scene(train: int = 3, test: int = 2, side: int = SIDE) -> Scene:
    """A ball of two colours on a transparent ground, seen from around it: what a quick run fits."""
    import torch

    from staf.kinds.scene.cameras import looking_at
    from staf.kinds.scene.reading import Views
    from staf.kinds.scene.signal import Scene

    def views(count: int, turn: float) -> Views:
        angle = turn + torch.arange(count) * (2 * torch.pi / count)
        positions = torch.stack([3 * angle.cos(), 3 * angle.sin(), torch.ones(count)], -1)
        cameras = looking_at(positions, torch.zeros(3), angle=0.8, height=side, width=side)
        pixel = torch.arange(count * side * side)
        view, inside = pixel // side**2, pixel % side**2
        origin, direction = cameras.rays(view, inside // side + 0.5, inside % side + 0.5)
        # The distance of the point of each ray that is nearest to the ball's middle, and of where it enters the ball.
        nearest = -(origin * direction).sum(-1)
        left = 0.64 - (origin + nearest[:, None] * direction).square().sum(-1)
        point = origin + (nearest - left.clamp(min=0).sqrt())[:, None] * direction
        red = torch.where(point[:, 2] > 0, 220, 30)
        pixels = torch.stack([red, torch.full_like(red, 90), 250 - red, torch.where(left > 0, 255, 0)], -1)
        return Views([f"r_{i}" for i in range(count)], pixels.to(torch.uint8).reshape(count, side, side, 4), cameras)

    return Scene(views(train, 0.0), views(test, 0.5), name="ball")


def main() -> None:
    from staf.kinds.scene.signal import Scene

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--downscale", type=count, default=1)
    arguments = parser.parse_args()
    pack_scene(Scene.read(arguments.folder, downscale=arguments.downscale), arguments.out)


if __name__ == "__main__":
    main()
