"""Lens distortion by OpenCV's k1, k2, p1, p2: where a lens puts a point, the way back, and whether there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float

# Newton steps that take distortion back; where a lens is about to fold, each still gains two bits.
STEPS = 8
# Pixels that the border of a picture may be off by when distortion is taken back and applied again.
LARGEST_ERROR = 0.1
# Points along each side of a picture, and along the way to each, at which a lens is looked at.
ALONG_SIDE, ALONG_WAY = 17, 16


def distorted(points: Float[Tensor, "*n 2"], distortion: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 2"]:
    """Where a lens puts points x of an ideal picture at unit focal length.

    With s = |x|^2 and q = (p2, p1) that is (1 + k1 s + k2 s^2 + 2 q.x) x + s q.
    """
    return distorted_with_slopes(points, distortion)[0]


def undistorted(points: Float[Tensor, "*n 2"], distortion: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 2"]:
    """Points of an ideal picture, at unit focal length, whose distorted images are `points`, by Newton's method.

    >>> ideal = torch.tensor([[0.3, -0.2]])
    >>> lens = torch.tensor([[0.1, 0.01, 0.001, 0.002]])
    >>> torch.allclose(undistorted(distorted(ideal, lens), lens), ideal, atol=1e-6)
    True
    """
    ideal = points
    # Always as many, and nothing is looked at on the host: training steps are captured in a CUDA graph.
    for _ in range(STEPS):
        image, diagonal, other = distorted_with_slopes(ideal, distortion)
        error = points - image
        determinant = diagonal.prod(-1, keepdim=True) - other.square()
        ideal = ideal + (diagonal.flip(-1) * error - other * error.flip(-1)) / determinant
    return ideal


def distorted_with_slopes(
    points: Float[Tensor, "*n 2"], distortion: Float[Tensor, "*n 4"]
) -> tuple[Float[Tensor, "*n 2"], Float[Tensor, "*n 2"], Float[Tensor, "*n 1"]]:
    """`distorted` and its derivative, which is symmetric: the diagonal and the other entry."""
    k1, k2, tangential = distortion.split([1, 1, 2], -1)
    towards, square = tangential.flip(-1), points.square().sum(-1, keepdim=True)
    second = k2 * square
    factor = 1 + square * (k1 + second) + 2 * (points * towards).sum(-1, keepdim=True)
    growth = k1 + 2 * second
    diagonal = factor + 2 * points * (growth * points + 2 * towards)
    other = growth * points.prod(-1, keepdim=True) + (points * tangential).sum(-1, keepdim=True)
    return points * factor + square * towards, diagonal, 2 * other


def border_error(
    focal: Float[Tensor, "v 2"],
    centre: Float[Tensor, "v 2"],
    distortion: Float[Tensor, "v 4"],
    *,
    height: int,
    width: int,
) -> Float[Tensor, " v"]:
    """How many pixels the border of each picture is off when distortion is taken back and applied again.

    Infinite where a lens folds the picture on the way from its centre to the border: two points are then seen in one.

    >>> one = torch.ones(1, 2)
    >>> border_error(9 * one, 4 * one, torch.tensor([[-5.0, 0.0, 0.0, 0.0]]), height=8, width=8)
    tensor([inf])
    """
    along = torch.linspace(0, 1, ALONG_SIDE, device=focal.device)
    sides = [torch.stack([along, torch.full_like(along, end)], -1) for end in (0.0, 1.0)]
    border = torch.cat([*sides, *(side.flip(-1) for side in sides)]) * torch.tensor([width, height]).to(along)
    points = (border - centre[:, None]) / focal[:, None]
    lens = distortion[:, None].expand(*points.shape[:2], 4)
    ideal = undistorted(points, lens)
    error = ((distorted(ideal, lens) - points).abs() * focal[:, None]).amax((1, 2))
    way = torch.linspace(1 / ALONG_WAY, 1, ALONG_WAY, device=focal.device)[:, None] * ideal[:, :, None]
    _, diagonal, other = distorted_with_slopes(way, lens[:, :, None].expand(*way.shape[:3], 4))
    # Both eigenvalues are positive where the lens keeps neighbours apart and in order.
    upright = (diagonal.prod(-1) > other[..., 0].square()) & (diagonal.sum(-1) > 0)
    return torch.where(upright.all(2).all(1), error, torch.inf).nan_to_num(nan=torch.inf, posinf=torch.inf)
