"""The precision of cuBLAS's float32 products, for a block of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def library_precision(precision: str) -> Iterator[None]:
    """Products by the library in "tf32", or in float32 for every other name.

    cuBLAS reads the setting when a product is launched, and it is put back at once. It goes by torch's newer name:
    the older, `allow_tf32`, can be neither read nor written after a user has set the newer one.

    >>> with library_precision("tf32"):
    ...     torch.backends.cuda.matmul.fp32_precision
    'tf32'
    """
    library = torch.backends.cuda.matmul
    before = library.fp32_precision
    library.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        library.fp32_precision = before
