"""How exact the hidden matrix products of a fit are, and when.

Plain tf32 keeps ten bits and stops improving near 50 dB; a fit may start with it and finish exactly. The first layer,
on coordinates, is always exact (`ops.linear`).
"""

from __future__ import annotations

from staf.ops.linear import ProductPrecision
from staf.training.recipe import Precision

# The fraction of the steps that may be cheap at no cost in final quality (measured in docs/recipes-evidence.md).
CHEAP_FRACTION = 0.5


def at_step(precision: Precision, fraction: float) -> ProductPrecision:
    """The precision of a step when `fraction` of the fit is done.

    >>> at_step("tf32-then-bf16x3", 0.2), at_step("tf32-then-bf16x3", 0.5), at_step("fp32", 0.0)
    ('tf32', 'bf16x3', 'fp32')
    """
    if precision == "tf32-then-bf16x3":
        return "tf32" if fraction < CHEAP_FRACTION else "bf16x3"
    return precision
