"""The import hook of the tests checks shapes, and leaves Triton kernels alone."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import find_spec

import pytest
import torch

from staf.nn import SineSeries


def test_wrong_shapes_are_refused():
    from staf.metrics import psnr

    with pytest.raises(Exception, match=r"psnr|shape|parameter"):
        psnr("not a tensor", torch.zeros(3), data_range=1.0)
    assert SineSeries(terms=2, omega0=3.0)(torch.zeros(4, 8)).shape == (4, 8)


@pytest.mark.parametrize(
    "name", ["staf.ops.linear.triton_kernels", "staf.ops.pointwise_triton", "staf.ops.triton_math"]
)
def test_kernels_are_not_wrapped(name):
    spec = find_spec(name)
    assert spec is not None
    assert type(spec.loader) is SourceFileLoader


def test_other_modules_are_wrapped():
    spec = find_spec("staf.ops.linear.reference")
    assert spec is not None
    assert type(spec.loader) is not SourceFileLoader
