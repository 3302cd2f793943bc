"""One quick run of everything, on a machine with torch and numpy alone, that several tests look at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paper import EXPERIMENTS

ROOT = Path(__file__).parents[2]
# A GPU machine without a network has torch and numpy; safetensors is staf's own.
MISSING = ["PIL", "tifffile", "imagecodecs", "skimage", "scipy", "matplotlib", "tyro", "rich", "soundfile", "trimesh"]
MISSING += ["point_cloud_utils", "pooch", "torchmetrics", "jaxtyping", "beartype"]
BARE = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from paper.__main__ import main
for name in {names!r}:
    # Total variation and non-local means are scikit-image's.
    own = ["--classical"] if name == "denoising" else []
    own += ["--workers", "1", "--device", "cpu", "--no-progress", "--no-figures"]
    assert main([name, "--quick", *own]) == 0, name
"""


@pytest.fixture(scope="session")
def quick_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which NAME-quick holds the results of a quick run of each experiment."""
    folder = tmp_path_factory.mktemp("quick")
    code = BARE.format(missing=MISSING, names=list(EXPERIMENTS))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "XDG_CACHE_HOME": str(folder)}
    environment.pop("STAF_LPIPS_WEIGHTS", None)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "results"
