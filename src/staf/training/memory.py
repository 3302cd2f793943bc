"""Memory that one step frees and the next one takes again."""

from __future__ import annotations

import ctypes
import functools
import os
import platform

# Numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
KEPT_BYTES, LARGE_BYTES = 2**28, 2**25


@functools.cache
def keep_freed_memory() -> bool:
    """Let this process keep up to 256 MiB of what it frees; says whether it does.

    By default glibc returns large blocks to the system at once and gets them again for the next step, page by page:
    up to a sixth of a training step on a CPU. Blocks above 32 MiB are given back as before. Another allocator, another
    system, or thresholds that the environment sets (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`,
    `GLIBC_TUNABLES`) are left alone.

    >>> keep_freed_memory() in (True, False)
    True
    """
    chosen = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES", "LD_PRELOAD")
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in chosen):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_THRESHOLD, LARGE_BYTES)) and bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES))
