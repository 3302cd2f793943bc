"""What operations run on: the precision of their products, the implementation, and the device."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import torch

from staf.ops.backend import NAMES, backend
from staf.ops.linear.precision import ProductPrecision, product_precision


@dataclass(frozen=True)
class Execution:
    """How a trainer or a predictor computes; None means its default.

    `precision` is that of hidden products on CUDA (None: that of the recipe), `backend` forces one implementation of
    every operation, and tasks and fields are moved to `device` (None: they are not moved). A block with a precision
    also allows kernels without a forward mode, so inside it only reverse-mode derivatives work.

    >>> import staf.ops as ops
    >>> execution = Execution(precision="fp32", backend="reference")
    >>> with execution.active(), ops.record_backends() as ran:
    ...     _ = ops.sine(torch.zeros(3), 30.0)
    >>> ran
    [('sine', 'reference')]
    """

    precision: str | None = None
    backend: str | None = None
    device: torch.device | str | None = None

    def __post_init__(self) -> None:
        if self.precision is not None and self.precision not in get_args(ProductPrecision):
            names = ", ".join(get_args(ProductPrecision))
            raise ValueError(f"precision must be one of {names}, got {self.precision!r}")
        if self.backend is not None and self.backend not in NAMES:
            raise ValueError(f"backend must be one of {', '.join(NAMES)}, got {self.backend!r}")

    def otherwise(self, precision: str) -> Execution:
        """This execution, with the given precision if it has none.

        >>> Execution("tf32").otherwise("fp32").precision, Execution().otherwise("fp32").precision
        ('tf32', 'fp32')
        """
        return self if self.precision is not None else _with_precision(self, precision)

    def active(self) -> contextlib.AbstractContextManager[None]:
        """A block that computes in this way; None means as outside of the block."""
        if self.backend is None:
            return contextlib.nullcontext() if self.precision is None else product_precision(self.precision)
        return self._with_backend(self.backend)

    @contextlib.contextmanager
    def _with_backend(self, name: str) -> Iterator[None]:
        with backend(name), contextlib.nullcontext() if self.precision is None else product_precision(self.precision):
            yield


@functools.cache
def _with_precision(execution: Execution, precision: str) -> Execution:
    # Made once: a prediction of a single point takes less time than making it.
    return dataclasses.replace(execution, precision=precision)


DEFAULT = Execution()
