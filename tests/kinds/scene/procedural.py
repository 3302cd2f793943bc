"""A scene with known geometry, ray-traced: a red ball in front of a blue box, on a transparent ground."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
from PIL import Image as Pillow
from torch import Tensor

from staf.kinds.scene.cameras import Cameras, looking_at

BALL = (torch.tensor([0.3, 0.0, 0.1]), 0.5)
BOX = (torch.tensor([-0.9, -0.4, -0.5]), torch.tensor([-0.3, 0.4, 0.3]))
ANGLE = 0.7


def around(count: int, *, size: int = 24, start: float = 0.0, level: float = 1.2, radius: float = 4.0) -> Cameras:
    """Cameras on a ring around the origin."""
    angle = start + torch.arange(count) * (2 * math.pi / max(1, count))
    heights = level + 0.8 * torch.sin(3 * angle)
    flat = (radius**2 - heights**2).sqrt()
    positions = torch.stack([flat * angle.cos(), flat * angle.sin(), heights], -1)
    return looking_at(positions, torch.zeros(3), angle=ANGLE, height=size, width=size)


def traced(cameras: Cameras) -> tuple[Tensor, Tensor]:
    """What the cameras see: RGBA pixels (v, h, w, 4) as bytes, and the distance (v, h, w) of what is seen first."""
    height, width = cameras.height, cameras.width
    row, column = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    pixels, depths = [], []
    for view in range(len(cameras)):
        origin, direction = cameras.rays(torch.full((height * width,), view), row.reshape(-1), column.reshape(-1))
        ball, box = _ball(origin, direction), _box(origin, direction)
        nearest = torch.minimum(ball, box)
        seen = torch.isfinite(nearest)
        point = origin + torch.where(seen, nearest, 0.0)[:, None] * direction
        red = torch.stack([0.9 + 0 * point[:, 0], 0.2 + 0.2 * (point[:, 2] > 0.1), 0.1 + 0 * point[:, 0]], -1)
        blue = torch.stack([0.1 + 0 * point[:, 0], 0.3 + 0.4 * (point[:, 1] > 0), 0.8 + 0 * point[:, 0]], -1)
        colour = torch.where((ball < box)[:, None], red, blue) * seen[:, None]
        rgba = torch.cat([colour, seen[:, None].float()], -1)
        pixels.append((rgba * 255).round().to(torch.uint8).reshape(height, width, 4))
        depths.append(nearest.reshape(height, width))
    return torch.stack(pixels), torch.stack(depths)


def _ball(origin: Tensor, direction: Tensor) -> Tensor:
    centre, radius = BALL
    towards = origin - centre
    half = (towards * direction).sum(-1)
    inside = half.square() - towards.square().sum(-1) + radius**2
    return torch.where(inside > 0, -half - inside.clamp(min=0).sqrt(), torch.inf)


def _box(origin: Tensor, direction: Tensor) -> Tensor:
    low, high = ((side - origin) / direction for side in BOX)
    enter, leave = torch.minimum(low, high).amax(-1), torch.maximum(low, high).amin(-1)
    return torch.where(enter < leave, enter, torch.inf)


def write_blender(folder: Path, *, train: int = 6, test: int = 2, size: int = 24) -> Path:
    """A folder as Blender's exporter writes it."""
    for split, count, start in (("train", train, 0.0), ("test", test, 0.5)):
        cameras = around(count, size=size, start=start)
        (folder / split).mkdir(parents=True, exist_ok=True)
        frames = []
        for number, picture in enumerate(traced(cameras)[0] if count else ()):
            Pillow.fromarray(picture.numpy()).save(folder / split / f"r_{number}.png")
            pose = np.vstack([cameras.poses[number].numpy(), [0, 0, 0, 1]]).tolist()
            frames.append({"file_path": f"./{split}/r_{number}", "transform_matrix": pose})
        document = {"camera_angle_x": ANGLE, "frames": frames}
        (folder / f"transforms_{split}.json").write_text(json.dumps(document))
    return folder
