"""C, Omega and Phi frozen from iteration 200 of 500 against full training (Section "Two-Phase NTK Approximation")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import iteration_curves
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

WARM_UP = 200
PUBLISHED = {
    "all trained": {"psnr": 40.47, "ssim": 0.9804, "lpips": 0.00577},
    "frozen from 200": {"psnr": 39.96, "ssim": 0.9804, "lpips": 0.00632},
}
# The text counts steps; with --epochs the freeze would come after 200 mini-batches.
STUDY = ImageStudy(
    "freezing",
    "STAF whose sinusoids are frozen from step 200 of 500",
    (
        Row("all trained", "staf"),
        Row("frozen from 200", "staf", recipe={"freeze_activations_from": WARM_UP}),
        Row("never trained", "staf", {"train": ()}),
    ),
    Length(500),
    PUBLISHED,
    Preparation(divide=4),
    figures={"freezing": iteration_curves},
    needs="one image of DIV2K at full size (the paper's is 0824), which is divided by 4",
    time="3 rows x 2 recipes: 1 min an image on an H200",
).study()
