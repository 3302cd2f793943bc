"""Kernels of a chain without gaps: the programs of one are placed on the GPU while those of the kernel before it end.

Where a GPU has this (compute capability 9, "programmatic dependent launch"), a kernel that calls `begin` first may be
launched with the options of `early`. It then waits on the GPU itself for the kernel before it and for all that this one
has waited for, which takes less time than a launch. Captured graphs keep it.
"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def begin(EARLY: tl.constexpr):
    """Let the next kernel be placed, and wait until everything before this one is written; nothing unless EARLY."""
    let_next(EARLY)
    wait_before(EARLY)


@triton.jit
def let_next(EARLY: tl.constexpr):
    """Let the next kernel be placed. Its programs then take the place of others that may run beside this one."""
    if EARLY:
        gdc_launch_dependents()


@triton.jit
def wait_before(EARLY: tl.constexpr):
    """Wait until everything before this kernel is written."""
    if EARLY:
        gdc_wait()


def early(device: torch.device, little: bool = True) -> dict[str, bool]:
    """What to launch a kernel with that calls `begin(EARLY)` before it reads or writes anything.

    Only with little to do: programs that wait take the place of others.
    """
    able = little and device.type == "cuda" and _is_able(device.index)
    return {"EARLY": True, "launch_pdl": True} if able else {}


@functools.cache
def _is_able(index: int | None) -> bool:
    return torch.version.hip is None and torch.cuda.get_device_capability(index)[0] >= 9
