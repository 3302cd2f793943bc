"""STAF with LPIPS in its loss: less distortion or more likeness (Section "Discussion and Limitations")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import reconstructions, trade_off
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

# The paper does not say with which weight LPIPS was added.
WEIGHTS = {"mse + 0.0003 lpips": 3e-4, "mse + 0.003 lpips": 3e-3, "mse + 0.03 lpips": 3e-2}
PUBLISHED = {
    "mse": {"psnr": 40.47, "ssim": 0.9804, "lpips": 0.00577},
    "mse + lpips": {"psnr": 37.47, "ssim": 0.9616, "lpips": 0.00305},
}
STUDY = ImageStudy(
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
    quick={"rows": ["mse"]},
).study()
