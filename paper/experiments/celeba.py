"""CelebA at 128x128, 250 iterations, eight networks: PSNR, SSIM, LPIPS (Table "CelebA dataset")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.experiments.kodak import MODELS
from paper.report.pictures import trade_off
from paper.study.image_study import ImageStudy, rows_of
from paper.study.rows import Length

PUBLISHED = {
    "staf": {"psnr": 70.932, "psnr_sd": 4.248, "ssim": 0.9970, "ssim_sd": 0.0075, "lpips": 0.0005, "lpips_sd": 0.0017},
    "siren": {"psnr": 58.251, "psnr_sd": 2.322, "ssim": 0.9955, "ssim_sd": 0.0025, "lpips": 0.0006, "lpips_sd": 0.0004},
    "finer": {"psnr": 48.96, "psnr_sd": 2.136, "ssim": 0.9932, "ssim_sd": 0.0029, "lpips": 0.0003, "lpips_sd": 0.0003},
    "wire": {"psnr": 39.283, "psnr_sd": 2.403, "ssim": 0.9773, "ssim_sd": 0.0144, "lpips": 0.0082, "lpips_sd": 0.0052},
    "incode": {
        "psnr": 59.853, "psnr_sd": 5.523, "ssim": 0.9964, "ssim_sd": 0.0019, "lpips": 0.0001, "lpips_sd": 0.0003,
    },
    "mfn": {"psnr": 44.124, "psnr_sd": 2.912, "ssim": 0.9890, "ssim_sd": 0.0059, "lpips": 0.0021, "lpips_sd": 0.0021},
    "gauss": {"psnr": 47.547, "psnr_sd": 2.807, "ssim": 0.9934, "ssim_sd": 0.0055, "lpips": 0.0003, "lpips_sd": 0.0004},
    "pemlp": {"psnr": 31.088, "psnr_sd": 2.318, "ssim": 0.8899, "ssim_sd": 0.0372, "lpips": 0.0865, "lpips_sd": 0.0414},
}  # fmt: skip
STUDY = ImageStudy(
    "celeba",
    "CelebA, 19,867 images at 128x128, 250 iterations",
    rows_of(*MODELS),
    Length(250),
    PUBLISHED,
    Preparation(crop=(178, 178), size=(128, 128)),
    figures={"celeba": trade_off},
    needs="images of CelebA, 178x218 (19,867 is its validation part); give --together to train them at once",
    time="0.1 s an image and recipe on an H200 with --together: 9 h for all 19,867 by 8 networks",
).study()
