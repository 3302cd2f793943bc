"""What this folder's functions take: finite numbers of a size that can be squared, and whole counts; refused by name.

Without these checks NaN would come back where NaN went in, or where two infinities met on the way.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

# Squares of numbers, and products of four of them, are floats.
LARGEST = 1e30


def whole(name: str, value: Any, least: int = 0) -> int:
    """`value` as an integer of at least `least`.

    >>> whole("order", 3)
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values in float64; infinity is one of them, NaN is not."""
    array = _array(name, values)
    if np.isnan(array).any():
        raise ValueError(f"{name} must be numbers, got NaN")
    return array


def finite(name: str, values: ArrayLike, *, largest: float | None = LARGEST) -> NDArray[np.float64]:
    """The values in float64, all finite and at most `largest` in size.

    >>> finite("a", [1, 2]).tolist()
    [1.0, 2.0]
    """
    array = _array(name, values)
    if not (good := np.isfinite(array)).all():
        raise ValueError(f"{name} must be finite, got {array[~good].flat[0]}")
    if largest is not None and (size := float(np.abs(array).max(initial=0.0))) > largest:
        raise ValueError(f"{name} must be at most {largest:.0e} in size, got {size:g}")
    return array


def finite_tensor(name: str, values: Any, *, largest: float = LARGEST) -> Tensor:
    """The same for what torch computes with, in float64 on the device it is on."""
    tensor = torch.as_tensor(values).detach().to(torch.float64)
    if not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} must be finite, got {float(tensor[~torch.isfinite(tensor)].flatten()[0])}")
    if tensor.numel() and (size := float(tensor.abs().max())) > largest:
        raise ValueError(f"{name} must be at most {largest:.0e} in size, got {size:g}")
    return tensor


def fractions(name: str, values: Any) -> list[Fraction]:
    """Exact values of integers, Fractions and finite floats.

    >>> fractions("row", [0.5, 2])
    [Fraction(1, 2), Fraction(2, 1)]
    """
    try:
        return [Fraction(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be finite numbers, got {values!r}: {error}") from None


def _array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None
