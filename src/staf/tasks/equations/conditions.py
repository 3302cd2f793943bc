"""What is known of a solution on the faces of its box: values, rates of change, slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from staf.tasks.equations.jet import Jet

# A function of points (n, d), or the same number everywhere.
Values = Callable[[Tensor], Tensor] | float
# What a condition speaks of: from the solution and the points to (n, c).
Of = Callable[[Jet, Tensor], Tensor]
# An axis, and 0 for its lower end or 1 for its upper one.
Face = tuple[int, int]


@dataclass(frozen=True)
class Condition:
    """`of(u, x)` is `target` at the points of some faces of the box; its squared error counts `weight` times.

    `of` is the value of the solution unless given. Any number of conditions may hold on one face.
    """

    faces: tuple[Face, ...]
    target: Values
    weight: float = 1.0
    of: Of | None = None

    def __post_init__(self) -> None:
        if not self.faces:
            raise ValueError("faces must name at least one face of the box, such as (0, 0), got none")
        for axis, end in self.faces:
            if axis < 0 or end not in (0, 1):
                raise ValueError(f"a face must be (axis, 0 or 1), got {(axis, end)}")
        if not self.weight > 0:
            raise ValueError(f"weight must be positive, got {self.weight}")

    def values(self, x: Tensor, channels: int) -> Tensor:
        """The target at points (n, d), (n, c)."""
        return values_at(self.target, x, channels)

    def observed(self, u: Jet, x: Tensor) -> Tensor:
        """What the condition speaks of, (n, c)."""
        return u.value if self.of is None else self.of(u, x)

    def draw(self, unit: Tensor) -> Tensor:
        """Points (n, d) in [0, 1]^d on the faces, from numbers (n, d + 1) in [0, 1): the last one chooses the face."""
        points = unit[:, :-1].clone()
        chosen = (unit[:, -1] * len(self.faces)).long()
        for number, (axis, end) in enumerate(self.faces):
            points[chosen == number, axis] = float(end)
        return points


def boundary(target: Values, faces: Sequence[Face] | None = None, *, axes: int, weight: float = 1.0) -> Condition:
    """u is `target` on the given faces, on all of a box of `axes` axes if None.

    >>> boundary(0.0, axes=2).faces
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """
    return Condition(all_faces(range(axes)) if faces is None else tuple(faces), target, weight)


def walls(target: Values, *, axes: int, weight: float = 1.0) -> Condition:
    """u is `target` at both ends of every axis but the first, which is time."""
    return Condition(all_faces(range(1, axes)), target, weight)


def initial(target: Values, *, weight: float = 1.0) -> Condition:
    """u is `target` at the start of time, which is the first axis."""
    return Condition(((0, 0),), target, weight)


def initial_rate(target: Values, *, weight: float = 1.0) -> Condition:
    """du/dt is `target` at the start of time, which is the first axis."""
    return Condition(((0, 0),), target, weight, of=lambda u, x: u.d(0))


def all_faces(axes: Sequence[int] | range) -> tuple[Face, ...]:
    """Both faces of each axis."""
    return tuple((axis, end) for axis in axes for end in (0, 1))


def values_at(target: Values, x: Tensor, channels: int) -> Tensor:
    """A function or a number at points (n, d), as (n, c).

    >>> import torch
    >>> values_at(lambda x: x[:, 0], torch.tensor([[2.0, 3.0]]), 1)
    tensor([[2.]])
    """
    if not callable(target):
        return x.new_full((len(x), channels), float(target))
    values = target(x)
    if not isinstance(values, Tensor) or values.shape not in ((len(x),), (len(x), channels)):
        shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(
            f"a function of points ({len(x)}, {x.shape[1]}) must return ({len(x)}, {channels}), got {shape}"
        )
    return values.reshape(len(x), channels).to(x.dtype)
