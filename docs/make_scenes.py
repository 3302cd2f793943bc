"""Draw docs/img/scenes.png: photos of a small ray-traced scene, and what a field fitted to others of them shows.

`python docs/make_scenes.py [FOLDER]`, a few minutes on a CPU. The photos are written to FOLDER, as Blender's exporter
writes them, so that `staf fit FOLDER` can be tried on them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import staf
from staf.figures.style import bare, new_figure
from staf.kinds.scene.cameras import Cameras, looking_at
from staf.kinds.scene.writing import depth_pictures

SIDE, PHOTOS, HELD_OUT, ANGLE, STEPS = 128, 60, 4, 0.6, 3000
# Each pixel is the mean of four rays.
PLACES = (0.25, 0.75)
BALLS = (((0.0, 0.0, 0.05), 0.45), ((0.62, -0.3, -0.12), 0.28), ((-0.5, 0.45, -0.15), 0.25))
COLOURS = ((0.85, 0.25, 0.15), (0.1, 0.45, 0.8), (0.95, 0.75, 0.15))
PLATE, LIGHT = -0.4, (0.4, 0.3, 0.87)


def around(count: int, turn: float) -> Cameras:
    """Cameras on a winding path above the plate."""
    angle = turn + torch.arange(count) * 2.4
    height = 1.2 + 1.6 * torch.arange(count) / max(1, count - 1)
    flat = (16 - height**2).sqrt()
    positions = torch.stack([flat * angle.cos(), flat * angle.sin(), height], -1)
    return looking_at(positions, torch.zeros(3), angle=ANGLE, height=SIDE, width=SIDE)


def traced(cameras: Cameras) -> Tensor:
    """RGBA photos (v, h, w, 4) as bytes."""
    pixel = torch.arange(len(cameras) * SIDE * SIDE)
    view, inside = pixel // SIDE**2, pixel % SIDE**2
    rays = (cameras.rays(view, inside // SIDE + down, inside % SIDE + right) for down in PLACES for right in PLACES)
    mean = torch.stack([_seen(*ray) for ray in rays]).mean(0)
    rgba = torch.cat([mean[:, :3] / mean[:, 3:].clamp(min=1e-6), mean[:, 3:]], -1)
    return (rgba.clamp(0, 1) * 255).round().to(torch.uint8).reshape(len(cameras), SIDE, SIDE, 4)


def _seen(origin: Tensor, direction: Tensor) -> Tensor:
    """What rays see (n, 4), colours times cover and cover: three balls with stripes above a round plate of squares."""
    light = torch.tensor(LIGHT)
    nearest = (PLATE - origin[:, 2]) / direction[:, 2]
    point = origin + nearest[:, None] * direction
    seen = point[:, :2].norm(dim=1) < 1.1
    square = ((point[:, 0] * 4).floor() + (point[:, 1] * 4).floor()) % 2
    shade = torch.ones(len(origin))
    for centre, radius in BALLS:
        # What of the plate lies in the shadow of a ball.
        away = torch.tensor(centre) - point
        shade = torch.where((away - (away @ light)[:, None] * light).norm(dim=1) < radius, 0.45, shade)
    colour = (0.35 + 0.5 * square * shade + 0.1 * shade)[:, None].expand(-1, 3)
    nearest = torch.where(seen, nearest, torch.inf)
    for (centre, radius), own in zip(BALLS, COLOURS, strict=True):
        towards = origin - torch.tensor(centre)
        half = (towards * direction).sum(-1)
        left = half.square() - towards.square().sum(-1) + radius**2
        distance = torch.where(left > 0, -half - left.clamp(min=0).sqrt(), torch.inf)
        normal = (towards + torch.where(left > 0, distance, 0.0)[:, None] * direction) / radius
        stripe = 0.75 + 0.25 * torch.sign(torch.sin(14 * normal[:, 2] + 3 * normal[:, 0]))
        lit = (0.35 + 0.65 * (normal @ light).clamp(min=0)) * stripe
        hit = distance < nearest
        colour = torch.where(hit[:, None], lit[:, None] * torch.tensor(own), colour)
        nearest = torch.minimum(nearest, distance)
    cover = torch.isfinite(nearest)[:, None].float()
    return torch.cat([colour.clamp(0, 1) * cover, cover], -1)


def write_scene(folder: Path) -> Path:
    """Photos and their poses, to fit and to be measured on."""
    for split, count, turn in (("train", PHOTOS, 0.0), ("test", HELD_OUT, 0.5)):
        cameras = around(count, turn)
        (folder / split).mkdir(parents=True, exist_ok=True)
        frames = []
        for number, picture in enumerate(traced(cameras)):
            staf.Image(picture.numpy()).save(folder / split / f"r_{number}.png")
            pose = np.vstack([cameras.poses[number].numpy(), [0, 0, 0, 1]])
            frames.append({"file_path": f"./{split}/r_{number}", "transform_matrix": pose.tolist()})
        document = {"camera_angle_x": ANGLE, "frames": frames}
        (folder / f"transforms_{split}.json").write_text(json.dumps(document))
    return folder


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "balls"
    scene = staf.Scene.read(write_scene(folder)).changed(half=1.2)
    fit = staf.fit(scene, steps=STEPS)
    fit.save(folder / "model.safetensors")
    shown = fit.reconstruction.train
    orbit = fit.render(path="orbit", frames=8).train
    pictures = {
        "a photo that was held out": scene.view.picture(),
        f"rendered, {fit.metrics['psnr']:.1f} dB": shown.pixels[0].numpy(),
        "its depth": np.repeat(depth_pictures(shown)[0] >> 8, 3, axis=-1).astype(np.uint8),
        "orbit, frame 0": orbit.pixels[0].numpy(),
        "frame 2": orbit.pixels[2].numpy(),
        "frame 5": orbit.pixels[5].numpy(),
    }
    figure = new_figure(13, 2.6)
    for axes, (title, picture) in zip(figure.subplots(1, len(pictures)), pictures.items(), strict=True):
        bare(axes)
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize=9)
    figure.savefig(Path(__file__).parent / "img" / "scenes.png", dpi=100)


if __name__ == "__main__":
    main()
