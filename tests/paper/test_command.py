"""`python -m paper`: the list, quick runs of every experiment on a bare machine, and data from a folder."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paper import EXPERIMENTS
from paper.__main__ import main
from paper.runner import load_results

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
    assert main([name, "--quick", "--workers", "1", "--device", "cpu", "--no-progress", "--no-figures", *own]) == 0
"""


def test_every_experiment_runs_quickly_with_torch_and_numpy_alone(tmp_path):
    code = BARE.format(missing=MISSING, names=list(EXPERIMENTS))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for name in EXPERIMENTS:
        results = load_results(tmp_path / "results" / f"{name}-quick", name)
        assert {"staf"} <= {str(r.configuration.get("model", "staf")) for r in results}, name
        assert all(np.isfinite(list(r.metrics.values())).all() for r in results), name


def test_the_list_names_every_experiment_and_its_data(capsys):
    assert main(["--list"]) == 0
    lines = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert list(lines) == list(EXPERIMENTS)
    assert lines["audio"] == "recording"
    assert lines["shapes"] == "shapes"


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_nothing_can_be_drawn_from_an_empty_folder(name, tmp_path, capsys):
    assert main([name, "--draw-only", "--folder", str(tmp_path)]) == 2
    assert "no finished results" in capsys.readouterr().err
    assert name == importlib.import_module(EXPERIMENTS[name]).NAME


def test_data_is_found_in_a_folder(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "wave.npy", np.sin(np.arange(400) * 0.1).astype(np.float32))
    words = ["audio", "--quick", "--models", "siren", "--protocols", "ours", "--no-figures", "--workers", "1"]
    words += ["--device", "cpu", "--folder", str(tmp_path / "r"), "--data", str(tmp_path / "data")]
    assert main(words) == 0
    (result,) = load_results(tmp_path / "r", "audio")
    assert result.data_name == "wave"
    assert main([*words, "--recording", "other.npy"]) == 2
    assert "--data and --recording both name the data" in capsys.readouterr().err
    np.save(tmp_path / "data" / "second.npy", np.zeros(9))
    assert main(words) == 2
    assert "--data must hold one recording" in capsys.readouterr().err
    words[0] = "shapes"
    assert main(words) == 2
    assert "--data must hold a file of type .ply" in capsys.readouterr().err
