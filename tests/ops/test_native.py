"""Building the compiled kernels: cached, never at import, and a clear fall-back without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from staf.ops import native

# Built without optimisation, which takes a quarter of the time.
SHORT = """
import logging, torch
logging.basicConfig()
from staf import ops
from staf.ops import native
native.FLAGS = tuple("-O0" if flag == "-O3" else flag for flag in native.FLAGS)
with ops.record_backends() as ran:
    for _ in range(2):
        y = ops.sine(torch.ones(3), 1.0)
print(ran, round(float(y[0]), 5))
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    merged = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=merged, check=True)


@pytest.mark.skipif(native.library() is None, reason="no C compiler here")
def test_the_build_is_kept_in_the_cache_folder_and_used_again(tmp_path):
    first = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "('sine', 'compiled')" in first.stdout
    assert "0.84147" in first.stdout
    (built,) = (tmp_path / "staf").iterdir()
    before = built.stat().st_mtime_ns
    second = run(SHORT, XDG_CACHE_HOME=str(tmp_path), PATH=os.environ["PATH"])
    assert second.stdout == first.stdout
    assert [path.stat().st_mtime_ns for path in (tmp_path / "staf").iterdir()] == [before]


def test_without_a_compiler_the_loop_runs_and_says_so_once(tmp_path):
    done = run(SHORT, PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout.strip() == "[('sine', 'loop'), ('sine', 'loop')] 0.84147"
    assert done.stderr.count("no compiled CPU kernels (no C compiler found as cc, gcc or clang)") == 1


@pytest.mark.skipif(native.library() is None, reason="no C compiler here")
def test_without_a_cache_folder_the_kernels_are_built_for_the_run(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "scratch").mkdir()
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path / "scratch"))
    assert "('sine', 'compiled')" in done.stdout
    assert done.stderr.count("are built again in each run, since they cannot be kept: ") == 1
    assert list((tmp_path / "scratch").iterdir()) == []


def test_forcing_compiled_without_a_compiler_is_an_error(tmp_path):
    script = """
import torch
from staf import ops
try:
    with ops.backend("compiled"):
        ops.sine(torch.ones(3), 1.0)
except RuntimeError as error:
    print(error)
"""
    done = run(script, PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout.startswith("backend 'compiled' was forced, but its kernels could not be built: no C compiler")


def test_importing_builds_nothing_and_loads_no_triton(tmp_path):
    script = "import sys, staf.ops; print('triton' in sys.modules, 'staf.ops.native' in sys.modules)"
    assert run(script, XDG_CACHE_HOME=str(tmp_path)).stdout.split()[1] == "False"
    assert list(tmp_path.iterdir()) == []
