"""One quick run of everything, on a machine with torch and numpy alone, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paper import EXPERIMENTS, PAPER
from paper.__main__ import load, main
from paper.data.scenes import ball_scene
from paper.experiments.nerf import photos_of, scene_tables
from paper.runner import load_results
from tests.kernels import share_kernels

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


@pytest.fixture(scope="module")
def quick_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which NAME-quick holds the results of a quick run of each experiment."""
    folder = tmp_path_factory.mktemp("quick")
    code = BARE.format(missing=MISSING, names=list(EXPERIMENTS))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "XDG_CACHE_HOME": str(folder)}
    environment.pop("STAF_LPIPS_WEIGHTS", None)
    share_kernels(folder)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "results"


@pytest.mark.parametrize("name", list(PAPER))
def test_a_quick_run_has_its_tables_and_draws_its_figures(name, quick_results, capsys):
    folder = quick_results / f"{name}-quick"
    assert main([name, "--draw-only", "--folder", str(folder)]) == 0
    said = capsys.readouterr()
    assert not said.err
    study = load(name)
    for table in study.tables(load_results(folder, name)):
        assert table.title in said.out
    drawn = [Path(line) for line in said.out.splitlines() if line.startswith(str(folder))]
    assert folder / f"{name}.md" in drawn
    assert any(path.suffix == ".png" for path in drawn) or name == "shapes"
    for path in drawn:
        assert path.stat().st_size > 100


def test_every_experiment_runs_quickly_with_torch_and_numpy_alone(quick_results):
    for name in EXPERIMENTS:
        results = load_results(quick_results / f"{name}-quick", name)
        assert results, name
        assert {"staf"} <= {str(r.configuration.get("model", "staf")) for r in results}, name
        assert all(np.isfinite(list(r.metrics.values())).all() for r in results), name


def test_what_networks_cost_is_in_every_table_of_networks(quick_results):
    for name in ("audio", "shapes", "super-resolution", "denoising", "inpainting", "tomography", "kodak", "tokyo"):
        fits = [r for r in load_results(quick_results / f"{name}-quick", name) if r.details["steps"]]
        assert fits, name
        for fit in fits:
            assert fit.details["parameters"] > 1000
            assert fit.details["operations"]["products"] > fit.details["operations"]["elementwise"] > 0
            assert fit.details["inference_seconds"] > 0
            assert "memory" in fit.details


def test_a_quick_run_has_lpips_in_a_loss_without_its_weights(quick_results):
    results = load_results(quick_results / "lpips-training-quick", "lpips-training")
    assert {result.configuration["perceptual"] for result in results} == {0.0, 0.03}
    assert all(result.metrics["lpips"] > 0 for result in results)
    plain, with_lpips = (
        next(r.metrics for r in results if r.configuration["protocol"] == "ours" and r.configuration["perceptual"] == w)
        for w in (0.0, 0.03)
    )
    assert plain != with_lpips
    kodak = load_results(quick_results / "kodak-quick", "kodak")
    assert not any("lpips" in result.metrics for result in kodak), "random weights are of that study alone"


def test_a_quick_run_of_scenes_has_a_view_of_each_network(quick_results):
    results = load_results(quick_results / "nerf-quick", "nerf")
    assert {result.configuration["protocol"] for result in results} == {"ours", "paper"}
    arrays = results[0].arrays()
    assert arrays["shown"].shape == arrays["photo"].shape == (10, 10, 3)
    assert np.array_equal(arrays["photo"], photos_of(ball_scene())[1])
    assert json.dumps(results[0].details)
    assert scene_tables(results)[0].title.startswith("ball, held-out views (")
