"""The precision of cuBLAS is set for a block, however the user has set it."""

import contextlib

import pytest
import torch

from staf.ops.linear.library import library_precision


@pytest.mark.parametrize("users", ["none", "ieee", "tf32"])
def test_what_the_user_has_set_comes_back_also_after_an_error(users):
    library = torch.backends.cuda.matmul
    before = library.fp32_precision
    try:
        library.fp32_precision = users
        with library_precision("tf32"):
            assert library.fp32_precision == "tf32"
        assert library.fp32_precision == users
        with contextlib.suppress(ZeroDivisionError), library_precision("fp32"):
            assert library.fp32_precision == "ieee"
            raise ZeroDivisionError
        assert library.fp32_precision == users
    finally:
        library.fp32_precision = before


def test_the_older_name_still_reads_after_a_block():
    with library_precision("tf32"):
        pass
    assert torch.backends.cuda.matmul.allow_tf32 is False
