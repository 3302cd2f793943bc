"""Cameras: which ray each pixel of each photo looks along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from staf._typing import Float, Int
from staf.kinds.scene.lens import LARGEST_ERROR, border_error, undistorted
from staf.signals.errors import SignalError

MOST_CAMERAS, LONGEST_SIDE = 100_000, 2**15
# Pixels of one picture: a rendering holds a few dozen bytes for each.
MOST_PIXELS = 2**26
# The cosine of 25 degrees: cameras spread over a half-sphere at random lean by less.
NEARLY_AN_AXIS = 0.906
# Directions whose mean is shorter than this agree on nothing.
LEAST_AGREED = 0.1


@dataclass(frozen=True)
class Cameras:
    """v pinhole cameras of one picture size, with lens distortion.

    Poses map a camera's frame to the scene's: x points right, y up, and the camera looks along -z (Blender, OpenGL).
    Pixel (row i, column j) has its centre at (j + 1/2, i + 1/2).

    Args:
        poses: (v, 3, 4), rotation and position; in float64 where they may be far from the origin.
        focal: (v, 2), in pixels, of columns and rows.
        centre: (v, 2), where the axis meets the picture, in pixels from its left and top edge.
        distortion: (v, 4), k1, k2, p1, p2 as OpenCV defines them, or None.
        height: of every picture.
        width: of every picture.
    """

    poses: Tensor
    focal: Tensor
    centre: Tensor
    distortion: Tensor | None
    height: int
    width: int

    def __len__(self) -> int:
        return len(self.poses)

    @property
    def positions(self) -> Tensor:
        """Where the cameras are, (v, 3)."""
        return self.poses[:, :, 3]

    def rays(
        self, view: Int[Tensor, " n"], row: Float[Tensor, " n"], column: Float[Tensor, " n"]
    ) -> tuple[Float[Tensor, "n 3"], Float[Tensor, "n 3"]]:
        """Origins and unit directions of the rays through points of pictures, in the scene's frame.

        `row` and `column` count pixels from the top left corner; i + 1/2 is the centre of pixel i.

        >>> camera = looking_at(torch.tensor([[0.0, -4.0, 0.0]]), torch.zeros(3), angle=1.0, height=2, width=2)
        >>> origin, direction = camera.rays(torch.tensor([0]), torch.tensor([1.0]), torch.tensor([1.0]))
        >>> origin.tolist(), direction.round(decimals=4).tolist()
        ([[0.0, -4.0, 0.0]], [[0.0, 1.0, 0.0]])
        """
        flat = (torch.stack([column, row], -1) - self.centre[view]) / self.focal[view]
        if self.distortion is not None:
            flat = undistorted(flat, self.distortion[view])
        local = torch.stack([flat[:, 0], -flat[:, 1], -torch.ones_like(flat[:, 0])], -1).to(self.poses)
        direction = (self.poses[view, :, :3] @ local[..., None])[..., 0]
        return self.poses[view, :, 3], torch.nn.functional.normalize(direction, dim=-1)

    def pixels(
        self, view: Int[Tensor, " n"], row: Float[Tensor, " n"], column: Float[Tensor, " n"]
    ) -> tuple[Float[Tensor, "n 3"], Float[Tensor, "n 3"], Float[Tensor, "n 2 3"]]:
        """Origins and directions of rays, and how directions change from one row and one column to the next.

        >>> camera = looking_at(torch.tensor([[0.0, -4.0, 0.0]]), torch.zeros(3), angle=1.0, height=2, width=2)
        >>> change = camera.pixels(torch.tensor([0]), torch.tensor([1.0]), torch.tensor([1.0]))[2]
        >>> (change * camera.focal[0, 0]).round(decimals=1).abs().tolist()
        [[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]]
        """
        # All in one call, because a captured step pays for every kernel; directions are nearly linear in a pixel.
        rows = torch.cat([row, row + 0.5, row - 0.5, row, row])
        columns = torch.cat([column, column, column, column + 0.5, column - 0.5])
        origin, direction = self.rays(view.repeat(5), rows, columns)
        here, below, above, right, left = direction.view(5, -1, 3)
        return origin[: len(view)], here, torch.stack([below - above, right - left], 1)

    def scaled(self, factor: int) -> Cameras:
        """The same cameras for pictures `factor` times smaller."""
        return replace(
            self,
            focal=self.focal / factor,
            centre=self.centre / factor,
            height=self.height // factor,
            width=self.width // factor,
        )

    def moved(self, centre: Tensor, half: float) -> Cameras:
        """The same cameras in float32, in the frame where the box around `centre` of half side `half` is [-1, 1]^3."""
        position = (self.positions - centre) / half
        return replace(self, poses=torch.cat([self.poses[:, :, :3], position[..., None]], -1).float())

    def resized(self, *, width: int, height: int) -> Cameras:
        """The same cameras for pictures of another size, which show all that is seen, and more on two sides.

        >>> camera = looking_at(torch.tensor([[0.0, -4.0, 0.0]]), torch.zeros(3), angle=1.0, height=4, width=4)
        >>> wide = camera.resized(width=8, height=4)
        >>> wide.centre.tolist(), torch.equal(wide.focal, camera.focal)
        ([[4.0, 2.0]], True)
        """
        check_size(width, height)
        factor = min(width / self.width, height / self.height)
        shift = torch.tensor([width - self.width * factor, height - self.height * factor]).to(self.centre) / 2
        return replace(self, focal=self.focal * factor, centre=self.centre * factor + shift, height=height, width=width)

    def to_plain(self) -> dict[str, Any]:
        """JSON-able data for `from_plain`."""
        tensors = {"poses": self.poses, "focal": self.focal, "centre": self.centre, "distortion": self.distortion}
        lists = {name: None if tensor is None else tensor.tolist() for name, tensor in tensors.items()}
        return {**lists, "height": self.height, "width": self.width}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Cameras:
        """Rebuild cameras, refusing what describes none.

        >>> camera = looking_at(torch.tensor([[0.0, -4.0, 0.0]]), torch.zeros(3), angle=1.0, height=2, width=3)
        >>> torch.equal(Cameras.from_plain(camera.to_plain()).poses, camera.poses.double())
        True
        """
        count = len(data["poses"])
        height, width = int(data["height"]), int(data["width"])
        if not 1 <= count <= MOST_CAMERAS or not (1 <= height <= LONGEST_SIDE and 1 <= width <= LONGEST_SIDE):
            raise SignalError(f"{count} cameras of {width}x{height} pixels are not of a scene")
        shapes = {"poses": (count, 3, 4), "focal": (count, 2), "centre": (count, 2), "distortion": (count, 4)}
        tensors: dict[str, Tensor] = {}
        for name, shape in shapes.items():
            if data[name] is None and name == "distortion":
                continue
            dtype = torch.float64 if name == "poses" else torch.float32
            tensors[name] = torch.tensor(data[name], dtype=dtype)
            if tuple(tensors[name].shape) != shape or not bool(tensors[name].isfinite().all()):
                raise SignalError(f"{name} of cameras must be {shape} numbers, got {tuple(tensors[name].shape)}")
        cameras = cls(tensors["poses"], tensors["focal"], tensors["centre"], tensors.get("distortion"), height, width)
        cameras.check_lenses()
        return cameras

    def check_lenses(self, names: Sequence[str] | None = None) -> None:
        """Refuse a lens whose distortion cannot be taken back all over its picture; `names` are those of the views."""
        if self.distortion is None:
            return
        size = {"height": self.height, "width": self.width}
        error = border_error(self.focal, self.centre, self.distortion, **size)
        worst = int(error.argmax())
        if not float(error[worst]) <= LARGEST_ERROR:
            terms = zip(("k1", "k2", "p1", "p2"), self.distortion[worst].tolist(), strict=True)
            lens = ", ".join(f"{name} {value:g}" for name, value in terms)
            where = f"view {worst}" if names is None else names[worst]
            raise SignalError(
                f"{where}: lens distortion of {lens} cannot be inverted up to the border of {self.width}x{self.height} "
                "pixels: correct it, or undistort the photos first"
            )

    def to(self, device: torch.device | str) -> Cameras:
        """The same cameras on another device."""
        return self._with(lambda tensor: tensor.to(device))

    def subset(self, views: list[int]) -> Cameras:
        """Some of the cameras."""
        return self._with(lambda tensor: tensor[views])

    def _with(self, change: Callable[[Tensor], Tensor]) -> Cameras:
        distortion = None if self.distortion is None else change(self.distortion)
        return replace(
            self,
            poses=change(self.poses),
            focal=change(self.focal),
            centre=change(self.centre),
            distortion=distortion,
        )


def check_size(width: int, height: int) -> None:
    """Refuse the size of a picture without pixels, or with too many."""
    if not (min(width, height) >= 1 and max(width, height) <= LONGEST_SIDE and width * height <= MOST_PIXELS):
        raise SignalError(
            f"the size of a picture must be between 1 and {LONGEST_SIDE:,} pixels a side, and at most {MOST_PIXELS:,} "
            f"pixels in all, got {width}x{height}"
        )


def looking_at(
    positions: Float[Tensor, "v 3"],
    target: Float[Tensor, " 3"],
    *,
    angle: float,
    height: int,
    width: int,
    up: Float[Tensor, " 3"] | None = None,
) -> Cameras:
    """Cameras at `positions` that look at `target`; `angle` is the horizontal field of view in radians.

    `up` points upwards in pictures, by default along z.
    """
    backward = torch.nn.functional.normalize(positions - target, dim=-1)
    upright = (torch.eye(3)[2] if up is None else up).to(positions).expand_as(backward)
    right = torch.nn.functional.normalize(torch.linalg.cross(upright, backward), dim=-1)
    poses = torch.stack([right, torch.linalg.cross(backward, right), backward, positions], -1)
    count = len(positions)
    focal = width / 2 / torch.tan(torch.tensor(angle / 2))
    return Cameras(
        poses,
        focal.expand(count, 2).to(poses.device),
        torch.tensor([width / 2, height / 2]).expand(count, 2).to(poses.device),
        None,
        height,
        width,
    )


def orbit(cameras: Cameras, count: int, towards: Float[Tensor, " 3"] | None = None) -> Cameras:
    """A closed path around the point nearest to the cameras' axes, at their mean height and distance.

    Where these axes are parallel, so that many points are, it is the one nearest to `towards`.

    >>> around = looking_at(3 * torch.eye(3)[:2], torch.zeros(3), angle=0.7, height=8, width=8)
    >>> path = orbit(around, 4)
    >>> [round(float(p.norm()), 3) for p in path.positions]
    [3.0, 3.0, 3.0, 3.0]
    """
    middle, up = nearest_to_axes(cameras, towards), upwards(cameras)
    offset = cameras.positions - middle
    level, distance = (offset @ up).mean(), offset.norm(dim=1).mean()
    radius = (distance.square() - level.square()).clamp(min=0).sqrt()
    exact = 1000 * torch.finfo(offset.dtype).eps
    if not float(radius) > max(1e-4 * float(distance), exact * float(cameras.positions.abs().max())):
        raise SignalError(
            f"an orbit has the mean distance of the cameras from what they look at, which is {float(radius):g} here: "
            "give cameras of your own (staf render: --camera)"
        )
    # Two directions across, the first as near to x as can be.
    start = torch.eye(3).to(up)[int(up.abs()[0] > 0.9)]
    first = torch.nn.functional.normalize(start - (start @ up) * up, dim=0)
    second = torch.linalg.cross(up, first)
    angle = torch.arange(count, dtype=offset.dtype, device=offset.device)[:, None] * (2 * torch.pi / count)
    positions = middle + level * up + radius * (angle.cos() * first + angle.sin() * second)
    field_of_view = float(2 * torch.atan(cameras.width / 2 / cameras.focal[:, 0].mean()))
    return looking_at(positions, middle, angle=field_of_view, height=cameras.height, width=cameras.width, up=up)


def upwards(cameras: Cameras) -> Float[Tensor, " 3"]:
    """The mean direction that points upwards in the pictures, or the axis of the scene that is nearly that.

    Photos that are turned in all ways, such as those from straight above, have none: then the cameras are above.

    >>> upwards(looking_at(3 * torch.eye(3)[:2], torch.zeros(3), angle=0.7, height=8, width=8)).tolist()
    [0.0, 0.0, 1.0]
    """
    of_pictures, backwards = cameras.poses[:, :, 1:3].mean(0).unbind(1)
    agreed = [mean for mean in (of_pictures, backwards) if float(mean.norm()) > LEAST_AGREED]
    mean = torch.nn.functional.normalize(agreed[0], dim=0) if agreed else torch.eye(3).to(backwards)[2]
    axis = int(mean.abs().argmax())
    if float(mean.abs()[axis]) > NEARLY_AN_AXIS:
        return torch.eye(3).to(mean)[axis] * mean[axis].sign()
    return mean


def nearest_to_axes(cameras: Cameras, towards: Float[Tensor, " 3"] | None = None) -> Float[Tensor, " 3"]:
    """The point whose distances to the cameras' axes have the smallest sum of squares.

    Cameras that all look the same way have many such points: of these the one nearest to `towards` (the origin).
    """
    across = _across(cameras)
    start = across.new_zeros(3) if towards is None else towards.to(across)
    offset = cameras.positions.to(across) - start
    # Axes within a twentieth of a degree count as parallel: poses are given to about seven digits.
    inverse = torch.linalg.pinv(across.sum(0), rtol=1e-6, hermitian=True)
    return (start + inverse @ (across @ offset[..., None]).sum(0)[:, 0]).to(cameras.poses)


def spread(cameras: Cameras) -> float:
    """How far the cameras' axes are from parallel: the mean squared sine of their angles with the nearest direction.

    >>> spread(looking_at(3 * torch.eye(3)[:1], torch.zeros(3), angle=0.7, height=8, width=8)) < 1e-6
    True
    """
    return float(torch.linalg.eigvalsh(_across(cameras).mean(0))[0])


def _across(cameras: Cameras) -> Float[Tensor, "v 3 3"]:
    """The projection across each camera's axis."""
    axis = torch.nn.functional.normalize(cameras.poses[:, :, 2].double(), dim=-1)
    return torch.eye(3, dtype=axis.dtype, device=axis.device) - axis[:, :, None] * axis[:, None, :]
