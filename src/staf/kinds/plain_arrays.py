"""What users call an array, as a plain numpy array: subclasses keep rules of their own about shapes and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from staf.signals.errors import SignalError


def plain_array(given: Any, name: str) -> np.ndarray:
    """`given` as an `np.ndarray` and nothing else, without a copy where it is one already.

    A matrix stays two-dimensional under every indexing, so that code written for arrays runs past its end. A masked
    array holds values that its owner has declared invalid: it is refused if any element is masked.

    >>> type(plain_array(np.matrix([[1, 2]]), "pixels")).__name__
    'ndarray'
    >>> plain_array(np.ma.array([1, 2], mask=[0, 1]), "pixels")
    Traceback (most recent call last):
    ...
    staf.signals.errors.SignalError: 1 of 2 elements of pixels are masked: fill them first, with .filled(value)
    """
    if isinstance(given, np.ma.MaskedArray):
        masked = int(np.ma.getmaskarray(given).sum())
        if masked:
            raise SignalError(
                f"{masked} of {given.size} elements of {name} are masked: fill them first, with .filled(value)"
            )
        given = given.data
    return np.asarray(given)
