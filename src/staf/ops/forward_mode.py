"""Forward-mode rules that can themselves be differentiated in forward mode."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch.autograd import forward_ad


@contextlib.contextmanager
def nested_forward_mode(ctx: Any) -> Iterator[tuple[Any, ...]]:
    """The saved tensors for use inside an `autograd.Function`'s `jvp`, with outer levels of forward mode kept alive.

    torch runs a `jvp` rule with forward mode off, because its saved tensors still carry the tangents being pushed. An
    outer `torch.func.jvp` is then off as well, and its share of the result would silently be zero. Here the tangents
    of the present level are taken off the saved tensors, and forward mode is on again for the outer levels.
    """
    with forward_ad._set_fwd_grad_enabled(True):
        yield tuple(None if saved is None else forward_ad.unpack_dual(saved).primal for saved in ctx.saved_tensors)
