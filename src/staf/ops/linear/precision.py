"""How exact hidden matrix products are: chosen by a context, never by a global flag of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal, cast, get_args

from staf.ops.backend import reverse_mode_promised

ProductPrecision = Literal["fp32", "bf16x3", "tf32"]

_current: ContextVar[ProductPrecision | None] = ContextVar("staf_product_precision", default=None)


@contextlib.contextmanager
def product_precision(name: str) -> Iterator[None]:
    """Compute the linear layers inside the block in one precision, on CUDA and in float32; elsewhere nothing changes.

    `Execution` is the usual way to enter such a block, which also allows kernels that have no forward mode. Up to 8
    inputs, coordinates, are always multiplied in float32. With `tf32`, sine series of many terms may be off by 1e-5 as
    well.

    | name | products | relative error | H200, 262,144 x 256 x 256 |
    |---|---|---|---|
    | `fp32` | the library's own | 3e-7 | 0.76 ms |
    | `bf16x3` | three bfloat16 products of split operands, summed in float32 | 4e-6 | 0.46 ms |
    | `tf32` | one product with ten bits | 3e-4 | 0.15 ms |

    >>> with product_precision("bf16x3"):
    ...     current_precision()
    'bf16x3'
    """
    if name not in get_args(ProductPrecision):
        raise ValueError(f"precision must be one of {', '.join(get_args(ProductPrecision))}, got {name!r}")
    token = _current.set(cast(ProductPrecision, name))
    promise = reverse_mode_promised.set(True)
    try:
        yield
    finally:
        reverse_mode_promised.reset(promise)
        _current.reset(token)


def current_precision() -> ProductPrecision | None:
    """The precision in force; None outside every block, where plain torch computes."""
    return _current.get()
