"""STAF with 2, 5, 10, 20 and 50 sinusoids on Kodak: quality and time (Table "Effect of varying tau")."""

from __future__ import annotations

from functools import partial

from paper.data.preparation import Preparation
from paper.report.pictures import dots
from paper.report.side_by_side import Column
from paper.study.image_study import COLUMNS, ImageStudy
from paper.study.rows import Length, Row

TERMS = (2, 5, 10, 20, 50)
# The paper prints variances; their roots stand here. Times are of an NVIDIA T4.
PSNR = {2: (37.07, 20.99), 5: (38.80, 13.58), 10: (39.14, 13.44), 20: (41.27, 12.74), 50: (41.41, 7.63)}
SSIM = {2: (0.947, 0.0022), 5: (0.965, 0.0014), 10: (0.968, 0.0011), 20: (0.971, 0.0007), 50: (0.972, 0.0001)}
LPIPS = {2: (0.021, 0.0020), 5: (0.012, 0.0002), 10: (0.010, 0.0001), 20: (0.006, 6.91e-5), 50: (0.005, 5.18e-5)}
TRAINING = {2: 47.38, 5: 92.89, 10: 162.43, 20: 325.53, 50: 742.94}
INFERENCE = {2: 0.079, 5: 0.157, 10: 0.273, 20: 0.556, 50: 1.268}
PUBLISHED = {
    f"tau {terms}": {
        "psnr": PSNR[terms][0],
        "psnr_sd": PSNR[terms][1] ** 0.5,
        "ssim": SSIM[terms][0],
        "ssim_sd": SSIM[terms][1] ** 0.5,
        "lpips": LPIPS[terms][0],
        "lpips_sd": LPIPS[terms][1] ** 0.5,
        "training_seconds": TRAINING[terms],
        "inference_seconds": INFERENCE[terms],
    }
    for terms in TERMS
}
STUDY = ImageStudy(
    "tau-ablation",
    "STAF by its number of sinusoids, Kodak, 500 iterations; the paper's seconds are of a T4",
    tuple(Row(f"tau {terms}", "staf", {"terms": terms}) for terms in TERMS),
    Length(500),
    PUBLISHED,
    Preparation(crop=(512, 512), size=(256, 256)),
    columns=(*COLUMNS, Column("training_seconds", "training (s)", 2), Column("inference_seconds", "inference (s)", 5)),
    figures={"tau-ablation": partial(dots, published=PUBLISHED)},
    needs="the 24 Kodak images",
    time="5 rows x 2 recipes x 24 images: 8 min on an H200",
).study()
