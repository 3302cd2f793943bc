"""What users call an array, as a plain numpy array: subclasses keep rules of their own about shapes and values."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from staf.signals.errors import SignalError


def plain_array(given: ArrayLike | Tensor, name: str) -> np.ndarray:
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
    if isinstance(given, Tensor):
        try:
            values = given.detach().cpu()
            return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
        except (TypeError, RuntimeError) as error:
            # Sparse, quantised, nested and meta tensors, and types that numpy has not.
            kind = str(given.dtype).removeprefix("torch.")
            raise SignalError(f"a tensor must be dense and of a type that numpy has, got {kind} ({error})") from error
    # An array in a file is an array like others, and is shown to be in a file.
    return given if isinstance(given, np.memmap) else np.asarray(given)
