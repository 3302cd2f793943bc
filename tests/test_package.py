"""The wheel builds, installs into an empty environment with the core's three dependencies, and imports."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_in_an_empty_environment(tmp_path):
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("staf-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"staf"}
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/", "paper/"))]
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
    run(*pip, "torch", "numpy", "safetensors", cwd=tmp_path)
    run(*pip, "--no-deps", wheel, cwd=tmp_path)
    code = (
        "import staf, torch, numpy as np; from staf.kinds import Image;"
        "fit = staf.fit(Image(np.ones((4, 4), np.uint8)), steps=2, progress=False);"
        "print(staf.__version__, staf.__file__, fit.history.step)"
    )
    out = run(python, "-c", code, cwd=tmp_path)
    assert out.startswith("0.1.0")
    assert str(tmp_path) in out
    assert "[0, 1]" in out
