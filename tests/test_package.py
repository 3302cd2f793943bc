"""The wheel builds, installs beside the core's three dependencies alone, and fits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What fitting arrays needs; the command and pictures need the others.
CORE = {"torch", "numpy", "safetensors"}
INSTALLED = CORE | {"pillow", "platformdirs", "rich", "tyro"}


def run(*command: object, cwd: Path) -> str:
    # A folder of modules that this run was given is not the new environment's.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=alone, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def with_requirements(names: set[str]) -> set[str]:
    """Distributions and everything that they need."""
    found: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        found.add(name)
        needs = (
            need for need in metadata.requires(name) or [] if "extra" not in need and "platform_system" not in need
        )
        left |= {re.split(r"[^\w.-]", need)[0] for need in needs} - found
    return found


def link(names: set[str], packages: Path) -> None:
    """Distributions of this environment stand in another folder of packages."""
    for name in names:
        for part in {Path(file).parts[0] for file in metadata.files(name) or []} - {"..", "__pycache__"}:
            here = Path(str(metadata.distribution(name).locate_file(part)))
            if not (packages / part).exists():
                (packages / part).symlink_to(here)


def test_wheel_in_an_empty_environment(tmp_path):
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("staf-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"staf"}
    needs = {line.split()[1] for line in about.splitlines() if line.startswith("Requires-Dist") and "extra" not in line}
    assert {re.split(r"[<>=!~]", need)[0] for need in needs} == INSTALLED
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", wheel, cwd=tmp_path)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    link(with_requirements(CORE), packages)
    code = (
        "import staf, torch, numpy as np; from staf.kinds import Image;"
        "fit = staf.fit(Image(np.ones((4, 4), np.uint8)), steps=2, progress=False);"
        "print(staf.__version__, staf.__file__, fit.history.step);"
        "import importlib.util as u; assert not u.find_spec('PIL') and not u.find_spec('scipy')"
    )
    out = run(python, "-c", code, cwd=tmp_path)
    assert out.startswith("0.1.0")
    assert str(tmp_path) in out
    assert "[0, 1]" in out
