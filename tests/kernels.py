"""Compiled kernels for processes whose cache folder is empty, where they would be built again for seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

from staf._cache import cache_folder, private_folder
from staf.ops import native


def share_kernels(cache: Path) -> None:
    """Copy the kernels of this process's cache into `cache`, a folder for XDG_CACHE_HOME."""
    native.library()
    folder = private_folder(cache / "staf")
    for built in cache_folder().glob("kernels-*.so"):
        shutil.copy2(built, folder)
