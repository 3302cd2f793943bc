"""STAF with LPIPS in its loss: less distortion or more likeness (Section "Discussion and Limitations")."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from paper.data.preparation import Preparation
from paper.measures.perceptual import SMALLEST_SIDE, lpips_model
from paper.report.pictures import reconstructions, trade_off
from paper.runner.experiment import Context, Outcome
from paper.study.image_runs import ImageRun, ImageRuns
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

# The paper does not say with which weight LPIPS was added.
WEIGHTS = {"mse + 0.0003 lpips": 3e-4, "mse + 0.003 lpips": 3e-3, "mse + 0.03 lpips": 3e-2}
PUBLISHED = {
    "mse": {"psnr": 40.47, "ssim": 0.9804, "lpips": 0.00577},
    "mse + lpips": {"psnr": 37.47, "ssim": 0.9616, "lpips": 0.00305},
}
IMAGES = ImageStudy(
    "lpips-training",
    "STAF by MSE, and by MSE with LPIPS, 500 iterations",
    (Row("mse", "staf"), *(Row(name, "staf") for name in WEIGHTS)),
    Length(500),
    PUBLISHED,
    Preparation(divide=4),
    figures={"lpips-training": trade_off, "lpips-training-pictures": reconstructions},
    perceptual=WEIGHTS,
    needs="one image of DIV2K at full size (the paper's is 0824), divided by 4; weights of LPIPS",
    time="4 rows x 2 recipes: 1 min an image on an H200",
    quick={"rows": ["mse", "mse + 0.03 lpips"]},
)


@dataclass(frozen=True)
class Enlarged(Preparation):
    """Pixels repeated until AlexNet can see the image, for a quick run's.

    >>> Enlarged()(np.zeros((16, 20, 3), np.uint8)).shape
    (32, 40, 3)
    """

    @property
    def changes(self) -> bool:
        return True

    def __call__(self, array: np.ndarray) -> np.ndarray:
        times = -(-SMALLEST_SIDE // min(array.shape[:2]))
        return super().__call__(array if times == 1 else array.repeat(times, 0).repeat(times, 1))


@dataclass(frozen=True)
class RandomLPIPS(ImageRuns):
    """Runs whose LPIPS has the weights of a file of random ones, and nothing after them has."""

    weights: str = ""

    def run(self, configuration: ImageRun, context: Context) -> Outcome:
        from staf.metrics.lpips import ENVIRONMENT_VARIABLE

        before = os.environ.get(ENVIRONMENT_VARIABLE)
        os.environ[ENVIRONMENT_VARIABLE] = self.weights
        lpips_model.cache_clear()
        try:
            return super().run(configuration, context)
        finally:
            os.environ.pop(ENVIRONMENT_VARIABLE)
            if before is not None:
                os.environ[ENVIRONMENT_VARIABLE] = before
            lpips_model.cache_clear()


def sweep(arguments: argparse.Namespace) -> tuple[ImageRuns, list[ImageRun]]:
    """The usual runs; quick ones work everywhere, by larger pictures and, where there are no weights, random ones."""
    if not arguments.quick:
        return IMAGES.sweep(arguments)
    runs, configurations = replace(IMAGES, preparation=Enlarged(divide=4)).sweep(arguments)
    if lpips_model("cpu") is not None:
        return runs, configurations
    weights = random_weights(Path(arguments.folder) / "data" / "random-lpips.safetensors")
    return RandomLPIPS(runs.name, runs.sources, runs.look, str(weights.resolve())), configurations


def random_weights(path: Path) -> Path:
    """Write weights of LPIPS that mean nothing, small enough for gradients to stay finite."""
    import torch
    from safetensors.torch import save_file

    from staf.metrics.lpips import SHAPES

    generator = torch.Generator().manual_seed(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.rand(shape, generator=generator) / 50 for name, shape in SHAPES.items()}, path)
    return path


STUDY = replace(IMAGES.study(), sweep=sweep)
