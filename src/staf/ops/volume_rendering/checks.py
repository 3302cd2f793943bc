"""What `composite`, `march`, `visible` and `ray_box` refuse; looks at shapes, types and devices, never at values."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops.checks import check_floating


def check_composite(
    density: Tensor,
    colour: Tensor,
    distance: Tensor,
    width: Tensor,
    start: Tensor,
    count: Tensor,
    background: Tensor,
    stop: float,
) -> None:
    """Samples of rays with their densities and colours."""
    check_samples(density=density, distance=distance, width=width)
    check_floating("colour", colour)
    if colour.dim() != 2 or len(colour) != len(density):
        raise ValueError(f"colour must have shape ({len(density)}, channels), got {tuple(colour.shape)}")
    check_floating("background", background)
    _check_shape("background", background, tuple(colour.shape[1:]))
    check_places(start, count)
    check_devices(density=density, colour=colour, start=start, count=count, background=background)
    if not 0 <= stop < 1:
        raise ValueError(f"stop must be at least 0 and below 1, got {stop}")


def check_rays(origin: Tensor, direction: Tensor, **distances: Tensor) -> None:
    """Rays (n, 3), and distances (n,) along them."""
    rays = len(origin) if isinstance(origin, Tensor) and origin.dim() else 0
    for name, tensor in (("origin", origin), ("direction", direction)):
        check_floating(name, tensor)
        _check_shape(name, tensor, (rays, 3))
    for name, tensor in distances.items():
        check_floating(name, tensor)
        _check_shape(name, tensor, (rays,))
    check_devices(origin=origin, direction=direction, **distances)


def check_cells(occupied: Tensor, origin: Tensor) -> None:
    """A grid of cells, each occupied or not."""
    if not isinstance(occupied, Tensor) or occupied.dtype != torch.bool:
        found = occupied.dtype if isinstance(occupied, Tensor) else type(occupied).__name__
        raise TypeError(f"occupied must be a tensor of torch.bool, got {found}")
    if occupied.dim() != 3 or not occupied.numel():
        raise ValueError(f"occupied must have shape (x, y, z) with a cell or more, got {tuple(occupied.shape)}")
    check_devices(origin=origin, occupied=occupied)


def check_samples(**lists: Tensor) -> None:
    """Lists with one entry for each sample, the first of which says how many there are."""
    first = next(iter(lists.values()))
    for name, tensor in lists.items():
        check_floating(name, tensor)
        if tensor.dim() != 1 or len(tensor) != len(first):
            raise ValueError(
                f"{name} must have one entry for each of {len(first) if first.dim() else 0} samples, got shape "
                f"{tuple(tensor.shape)}"
            )
    check_devices(**lists)


def check_places(start: Tensor, count: Tensor) -> None:
    """Where the samples of each ray begin, and how many they are."""
    for name, tensor in (("start", start), ("count", count)):
        if not isinstance(tensor, Tensor) or tensor.dtype not in (torch.int32, torch.int64):
            found = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise TypeError(f"{name} must be a tensor of whole numbers, got {found}")
    if start.dim() != 1 or start.shape != count.shape:
        raise ValueError(
            f"start and count must have the same shape (n,), got {tuple(start.shape)} and {tuple(count.shape)}"
        )


def check_devices(**tensors: Tensor) -> None:
    """Tensors of one device."""
    first, *others = tensors.items()
    for name, tensor in others:
        if tensor.device != first[1].device:
            raise ValueError(
                f"{first[0]} and {name} must be on the same device, got {first[1].device} and {tensor.device}"
            )


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(tensor.shape)}")
