"""The compiled CPU kernels: C sources of this package, built once per machine with the system's compiler.

Nothing is built at import; the first operation on a float32 CPU tensor builds (about a second) or finds the library in
the user's cache folder (`staf._cache`), under a name that hashes sources, flags and processor. Where no folder can be
trusted or written to, the library is built for this process alone. Where there is no compiler, the loop over terms is
used. Both are logged in one sentence.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import torch

from staf._cache import cache_folder, private_folder
from staf.ops import kernel_cache

SOURCES = (
    "sine_series/sine_series.c",
    "sine_series/table.c",
    "pointwise.c",
    "linear/thin_sums.c",
    "hash_grid/hash_grid.c",
    "png_rows/png_rows.c",
)
HEADERS = ("trigonometry.h", "sine_series/blocks.h")
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
# Tried in this order: not every compiler has OpenMP, and not every processor knows -march.
VARIANTS = (("-march=native", "-fopenmp"), ("-march=native", "-fopenmp-simd"), ("-mcpu=native", "-fopenmp-simd"))
FUNCTIONS = {"staf_series_value": 5, "staf_series_gradients": 9, "staf_series_second": 14}
TABLE_FUNCTIONS = {"staf_table_value": 3, "staf_table_gradients": 5}
GRID_FUNCTIONS = {"staf_grid_gather": 5, "staf_grid_slope": 6, "staf_grid_scatter": 6}
# Below this many sines a single thread is faster than waking the others.
PARALLEL_FROM = 32768

_log = logging.getLogger("staf")
_lock = threading.Lock()
_tried = False
_library: ctypes.CDLL | None = None
_failure = ""


def library(required: bool = False) -> ctypes.CDLL | None:
    """The loaded kernels, built on the first call; None where they cannot be, or an error if `required`."""
    global _tried, _library, _failure
    if not _tried:
        with _lock:
            if not _tried:
                try:
                    _library = _find_or_build()
                except (OSError, subprocess.SubprocessError, RuntimeError) as error:
                    _failure = str(error)
                    _log.warning("staf: no compiled CPU kernels (%s); the slower loop over terms is used", _failure)
                _tried = True
    if required and _library is None:
        raise RuntimeError(f"backend 'compiled' was forced, but its kernels could not be built: {_failure}")
    return _library


def thread_count(sines: int) -> int:
    """How many threads to use for this many sines: torch's own number, or one for little work."""
    return torch.get_num_threads() if sines >= PARALLEL_FROM else 1


def _find_or_build() -> ctypes.CDLL:
    compiler = _compiler()
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for name in (*SOURCES, *HEADERS):
        digest.update((root / name).read_bytes())
    digest.update("\0".join((compiler, *FLAGS, repr(VARIANTS), *_openmp_of_torch(), _processor())).encode())
    try:
        folder = private_folder(cache_folder())
    except (OSError, RuntimeError) as error:
        _say_not_kept(error)
    else:
        try:
            return _kept(folder, digest.hexdigest()[:32], compiler, root)
        except OSError as error:
            _say_not_kept(error)
    with tempfile.TemporaryDirectory(prefix="staf-") as scratch:
        # The system keeps a loaded library when its file is removed.
        return _load(_compile(compiler, root, private_folder(Path(os.path.abspath(scratch)))))


def _kept(folder: Path, key: str, compiler: str, root: Path) -> ctypes.CDLL:
    """The library kept in `folder` under `key`, which is built if there is none that can be used."""
    for found in kernel_cache.whole_files(folder, key):
        try:
            return _load(found)
        except (OSError, AttributeError):
            found.unlink(missing_ok=True)
    with kernel_cache.scratch_folder(folder) as scratch:
        return _load(kernel_cache.keep(_compile(compiler, root, scratch), folder, key))


def _say_not_kept(error: Exception) -> None:
    reason = getattr(error, "strerror", None) or str(error)
    _log.warning("staf: compiled CPU kernels are built again in each run, since they cannot be kept: %s", reason)


def _compiler() -> str:
    """The absolute path of the first compiler found; folders of PATH that are relative are left out."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name, path=os.pathsep.join(folders)):
            return found
    raise RuntimeError("no C compiler found as cc, gcc or clang")


def _compile(compiler: str, root: Path, scratch: Path) -> Path:
    """The library built from the sources in `root`, in the folder `scratch`."""
    message = ""
    built = scratch / "kernels.so"
    for variant in VARIANTS:
        linked = _openmp_of_torch() if "-fopenmp" in variant else ()
        sources = [str(root / name) for name in SOURCES]
        command = [compiler, *FLAGS, *variant, "-I", str(root), *sources, *linked, "-lm", "-o", str(built)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            return built
        message = (done.stderr.strip().splitlines() or ["no message"])[0]
    raise RuntimeError(f"{compiler} failed: {message}")


def _openmp_of_torch() -> tuple[str, ...]:
    """Link the OpenMP library that torch brings, so that both share one pool of threads and never compete."""
    found = sorted((Path(torch.__file__).resolve().parent / "lib").glob("libgomp*.so*"))
    return ("-Wl,--as-needed", str(found[0])) if found else ()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = {line.split(":")[0].strip(): line for line in lines if ":" in line}
    return platform.machine() + "".join(told.get(key, "") for key in ("model name", "flags", "Features", "CPU part"))


def _load(path: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(path))
    for name, pointers in FUNCTIONS.items():
        getattr(loaded, name).argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * 5 + [ctypes.c_int]
    for name, pointers in TABLE_FUNCTIONS.items():
        numbers = [*[ctypes.c_int64] * 4, ctypes.c_int, ctypes.c_float]
        getattr(loaded, name).argtypes = [ctypes.c_void_p] * pointers + numbers
        getattr(loaded, name).restype = None
    for name, pointers in GRID_FUNCTIONS.items():
        getattr(loaded, name).argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * 6 + [ctypes.c_int] * 2
    loaded.staf_pointwise.argtypes = [
        *[ctypes.c_void_p] * 3,
        ctypes.c_int64,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_double,
        ctypes.c_int,
    ]
    loaded.staf_png_rows.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3
    loaded.staf_png_rows.restype = ctypes.c_int64
    loaded.staf_thin_sums.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3 + [ctypes.c_int]
    return loaded
