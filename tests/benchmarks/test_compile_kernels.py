"""Kernels compiled for GPUs that are not here; with the triton package, one of them for real."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch

from benchmarks import compile_kernels

HAS_TRITON = importlib.util.find_spec("triton") is not None


def test_tensors_say_that_they_are_on_a_gpu_inside_the_block_only():
    x = torch.ones(3)
    with compile_kernels.SaysCuda():
        assert (x.is_cuda, x.is_cpu, x.device) == (True, False, compile_kernels.GPU)
        made = torch.zeros(2, device=x.device)
    assert (x.is_cuda, made.is_cpu) == (False, True)


def test_what_is_too_large_or_does_not_compile_is_not_good():
    assert compile_kernels.Found({"one": 65_536}).fits(65_536)
    assert not compile_kernels.Found({"one": 65_537}).fits(65_536)
    assert not compile_kernels.Found({"one": 1}, {"two": "error"}).fits(65_536)


@pytest.mark.skipif(HAS_TRITON, reason="the message is for machines without triton")
def test_without_triton_it_says_what_is_missing(capsys):
    assert compile_kernels.main(["8.9"]) == 2
    assert "pip install triton" in capsys.readouterr().err


def test_unknown_capabilities_are_refused(capsys):
    with pytest.raises(SystemExit):
        compile_kernels.main(["3.5"])
    assert "'12.0'" in capsys.readouterr().err


@pytest.mark.skipif(not HAS_TRITON or torch.cuda.is_available(), reason="needs triton, and a process without a GPU")
def test_every_kernel_of_a_small_fit_is_compiled(tmp_path):
    import subprocess

    script = (
        "import staf; from benchmarks.compile_kernels import of_network, pretended\n"
        "with pretended('8.9') as found: of_network(lambda: staf.siren(2, 3, width=32, depth=2), 'bf16x3', 64)\n"
        "assert not found.errors, found.errors\n"
        "assert 'staf.ops.linear.triton_kernels.product_kernel' in found.shared, found.shared"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
