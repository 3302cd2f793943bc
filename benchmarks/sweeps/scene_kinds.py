"""Scenes of many kinds by the default plan: off-centre, thin, dark, on any background, at any scale, from one side.

`python -m benchmarks.sweeps.scene_kinds --out FILE.json` ray-traces each of `KINDS` into a folder, as Blender or
nerfstudio write it, opens it as a user does, fits it in `--steps` steps and prints the PSNR of views that were held
out, beside that of pictures of the photos' mean colour. `--only` keeps kinds whose names start with one of some words.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import staf
from benchmarks.sweeps.rows import Row, measure, options
from staf.kinds.scene.cameras import Cameras, looking_at
from staf.kinds.scene.checks import WHITE
from staf.kinds.scene.rendering import on_background

SIDE, PHOTOS, HELD_OUT, STEPS = 48, 36, 6, 200
# Each pixel is the mean of four rays.
PLACES = (-0.25, 0.25)
LIGHT = torch.nn.functional.normalize(torch.tensor([0.4, 0.3, 0.87]), dim=0)
GREEN = (40, 120, 60)

Point = tuple[float, float, float]
# Distance (n,), normal (n, 3) and place (n, 3) of what rays meet first.
Hit = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Thing:
    """A ball (`high` is None, `size` its radius) or a box, or a room that is seen from inside."""

    low: Point
    high: Point | None = None
    size: float = 0.0
    colour: Point = (0.9, 0.3, 0.2)
    pattern: float = 8.0
    room: bool = False

    def hit(self, origin: Tensor, direction: Tensor) -> Hit:
        low = torch.tensor(self.low)
        if self.high is None:
            towards = origin - low
            half = (towards * direction).sum(-1)
            inside = half.square() - towards.square().sum(-1) + self.size**2
            distance = torch.where(inside > 0, -half - inside.clamp(min=0).sqrt(), torch.inf)
            place = _along(origin, direction, distance)
            return distance, (place - low) / self.size, place
        high = torch.tensor(self.high)
        one, other = (low - origin) / direction, (high - origin) / direction
        enter, leave = torch.minimum(one, other).amax(-1), torch.maximum(one, other).amin(-1)
        distance = torch.where(enter < leave, leave if self.room else enter, torch.inf)
        place = _along(origin, direction, distance)
        out = (2 * place - low - high) / (high - low)
        normal = torch.zeros_like(out).scatter(1, out.abs().argmax(1, keepdim=True), 1.0) * out.sign()
        return distance, -normal if self.room else normal, place

    def lit(self, normal: Tensor, place: Tensor) -> Tensor:
        squares = 0.75 + 0.25 * torch.sin(self.pattern * place).prod(-1).sign()
        shade = (0.35 + 0.65 * (normal @ LIGHT).clamp(min=0)) * squares
        return (torch.tensor(self.colour) * shade[:, None]).clamp(0, 1)


def _along(origin: Tensor, direction: Tensor, distance: Tensor) -> Tensor:
    return origin + torch.where(distance.isfinite(), distance, 0.0)[:, None] * direction


def traced(cameras: Cameras, things: tuple[Thing, ...]) -> Tensor:
    """RGBA photos (v, h, w, 4) as bytes."""
    pixel = torch.arange(len(cameras) * SIDE * SIDE)
    view, inside = pixel // SIDE**2, pixel % SIDE**2
    total = torch.zeros(len(pixel), 4)
    for down in PLACES:
        for right in PLACES:
            rays = cameras.rays(view, inside // SIDE + 0.5 + down, inside % SIDE + 0.5 + right)
            nearest, colour = torch.full((len(pixel),), torch.inf), torch.zeros(len(pixel), 3)
            for thing in things:
                distance, normal, place = thing.hit(*rays)
                closer = distance < nearest
                colour = torch.where(closer[:, None], thing.lit(normal, place), colour)
                nearest = torch.where(closer, distance, nearest)
            seen = nearest.isfinite()[:, None].float()
            total += torch.cat([colour * seen, seen], -1) / len(PLACES) ** 2
    total[:, :3] /= total[:, 3:].clamp(min=1e-6)
    return (total.clamp(0, 1) * 255).round().to(torch.uint8).reshape(len(cameras), SIDE, SIDE, 4)


def around(count: int, turn: float) -> Cameras:
    """Cameras above a scene on a half-sphere of radius 4."""
    number = torch.arange(count)
    angle, height = turn + number * 2.4, 0.4 + 2.2 * ((number * 0.618 + turn) % 1)
    flat = (16 - height**2).sqrt()
    positions = torch.stack([flat * angle.cos(), flat * angle.sin(), height], -1)
    return looking_at(positions, torch.zeros(3), angle=0.7, height=SIDE, width=SIDE)


def in_front(count: int, turn: float) -> Cameras:
    """Cameras beside each other that look along -z, and a little inwards."""
    places = torch.rand(count, 3, generator=torch.Generator().manual_seed(int(10 * turn)))
    positions = (places - 0.5) * torch.tensor([1.6, 1.6, 0.2])
    targets = positions * torch.tensor([0.5, 0.5, 0.0]) + torch.tensor([0.0, 0.0, -4.0])
    up = torch.tensor([0.0, 1.0, 0.0])
    each = [
        looking_at(positions[i : i + 1], targets[i], angle=0.9, height=SIDE, width=SIDE, up=up) for i in range(count)
    ]
    poses, focal, centre = (torch.cat(part) for part in zip(*((c.poses, c.focal, c.centre) for c in each), strict=True))
    return replace(each[0], poses=poses, focal=focal, centre=centre)


SEVERAL = (
    Thing((0.0, 0.0, 0.1), size=0.5),
    Thing((0.8, -0.3, -0.1), size=0.3, colour=(0.2, 0.5, 0.9)),
    Thing((-0.9, -0.5, -0.6), (-0.3, 0.5, 0.2), colour=(0.9, 0.8, 0.2)),
    Thing((-1.1, -1.1, -0.7), (1.1, 1.1, -0.6), colour=(0.6, 0.7, 0.6), pattern=5.0),
)
THIN = (
    *(
        Thing((x - 0.015, -1.0, -0.5), (x + 0.015, 1.0, -0.47), colour=(0.8, 0.5, 0.2))
        for x in np.linspace(-1, 1, 9).tolist()
    ),
    Thing((-0.02, -0.02, -0.5), (0.02, 0.02, 1.0), colour=(0.2, 0.3, 0.8)),
)
DARK = (
    Thing((0.0, 0.0, 0.0), size=0.8, colour=(0.06, 0.05, 0.07)),
    Thing((-1.0, -1.0, -0.9), (1.0, 1.0, -0.8), colour=(0.04, 0.04, 0.04)),
)
SHELF = (
    Thing((-0.6, 0.2, -3.2), size=0.5),
    Thing((0.2, -0.9, -4.0), (1.0, 0.2, -3.4), colour=(0.2, 0.5, 0.9)),
    Thing((-4.0, -1.0, -6.0), (4.0, -0.9, -2.0), colour=(0.6, 0.7, 0.6)),
    Thing((-6.0, -6.0, -6.2), (6.0, 6.0, -6.0), colour=(0.8, 0.75, 0.6), pattern=3.0),
)
ROOM = Thing((-6.0, -6.0, -0.75), (6.0, 6.0, 5.0), colour=(0.7, 0.65, 0.6), pattern=3.0, room=True)


@dataclass(frozen=True)
class Kind:
    """What is seen from where, and how it is written; opaque photos have a `ground` or show the `things` all over."""

    things: tuple[Thing, ...] = SEVERAL
    cameras: Callable[[int, float], Cameras] = around
    opaque: bool = False
    ground: tuple[int, int, int] = (0, 0, 0)
    one_file: bool = False
    scale: float = 1.0
    shift: Point = (0.0, 0.0, 0.0)


KINDS = {
    "several things": Kind(),
    "several things, nerfstudio": Kind(one_file=True),
    "off-centre": Kind((Thing((1.0, 0.8, 0.9), size=0.35),)),
    "thin": Kind(THIN),
    "dark": Kind(DARK),
    "opaque, on black": Kind(opaque=True),
    "opaque, on green": Kind(opaque=True, ground=GREEN),
    "opaque, on green, nerfstudio": Kind(opaque=True, ground=GREEN, one_file=True),
    "from one side": Kind(SHELF, in_front, opaque=True, one_file=True),
    "from one side, cut out": Kind(SHELF[:2], in_front, one_file=True),
    "a room": Kind((*SEVERAL, ROOM), opaque=True, one_file=True),
    "a thousand times larger": Kind(scale=1e3),
    "a thousand times smaller": Kind(scale=1e-3),
    "far from the origin": Kind(shift=(5e6, -4e6, 300.0), one_file=True),
}


def write(folder: Path, kind: Kind) -> Path:
    """A folder of photos and their poses."""
    frames: dict[str, list[Row]] = {"train": [], "test": []}
    for split, count, turn in (("train", PHOTOS, 0.0), ("test", HELD_OUT, 0.5)):
        cameras = kind.cameras(count, turn)
        (folder / split).mkdir(parents=True)
        for number, photo in enumerate(traced(cameras, kind.things).numpy()):
            name = f"{split}/{number}.png"
            staf.Image(_opaque(photo, kind.ground) if kind.opaque else photo).save(folder / name)
            pose = np.vstack([cameras.poses[number].double().numpy(), [0, 0, 0, 1]])
            pose[:3, 3] = pose[:3, 3] * kind.scale + kind.shift
            frames[split].append({"file_path": name, "transform_matrix": pose.tolist()})
    lens = {"camera_angle_x": 2 * math.atan(SIDE / 2 / float(cameras.focal[0, 0]))}
    if kind.one_file:
        named = {f"{split}_filenames": [frame["file_path"] for frame in part] for split, part in frames.items()}
        document = {**lens, "frames": frames["train"] + frames["test"], **named}
        (folder / "transforms.json").write_text(json.dumps(document))
    else:
        for split, part in frames.items():
            (folder / f"transforms_{split}.json").write_text(json.dumps({**lens, "frames": part}))
    return folder


def _opaque(photo: np.ndarray, ground: tuple[int, int, int]) -> np.ndarray:
    cover = photo[..., 3:].astype(np.float32) / 255
    return np.rint(photo[..., :3] * cover + (1 - cover) * np.array(ground)).astype(np.uint8)


def fit(kind: Kind, steps: int, device: str, background: Sequence[float] | None = None) -> Row:
    """One kind of scene by the default plan, beside pictures of the photos' mean colour."""
    with tempfile.TemporaryDirectory() as folder:
        scene = staf.Scene.read(write(Path(folder) / "scene", kind), background=background)
    assert scene.test is not None
    shown = on_background(scene.test.pixels, torch.tensor(scene.background))
    mean = scene.values().mean(0)
    began = time.monotonic()
    found = staf.fit(scene, steps=steps, seed=0, device=device, progress=False)
    return {
        **found.metrics,
        "psnr_of_the_mean_colour": float((-10 * (shown - mean).square().mean((1, 2, 3)).log10()).mean()),
        "steps": steps,
        "seconds": time.monotonic() - began,
        "centre": scene.centre,
        "half": scene.half,
        "background": scene.background,
        "notes": scene.notes,
    }


def runs(given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    for name, kind in KINDS.items():
        yield name, partial(fit, kind, given.steps, given.device, WHITE if given.white else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--white", action="store_true", help="white behind all photos, opaque ones too")
    given = options(parser)
    measure(runs(given), [], given, {"scene": f"{PHOTOS} photos of {SIDE}x{SIDE}, {HELD_OUT} held out"})


if __name__ == "__main__":
    main()
