"""DIV2K at 512x512, five samples, seven networks: PSNR (Table "PSNR results on five ... samples")."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial

from paper.data.preparation import Preparation
from paper.report.pictures import dots
from paper.study.image_study import ImageStudy, rows_of
from paper.study.rows import Length

# The paper does not name its five images: rows are means over them, and the samples are kept for their spread.
SAMPLES: Mapping[str, tuple[float, ...]] = {
    "staf": (40.88, 34.93, 33.38, 40.23, 34.81),
    "finer": (37.28, 34.90, 31.69, 38.01, 33.70),
    "siren": (35.91, 30.81, 29.64, 36.94, 33.09),
    "ffn": (35.31, 31.56, 30.29, 35.19, 33.01),
    "pemlp": (29.21, 23.42, 21.63, 25.32, 22.81),
    "wire": (32.53, 31.28, 30.52, 32.89, 30.68),
    "gauss": (31.19, 30.47, 27.43, 31.65, 27.69),
}
PUBLISHED = {
    model: {"psnr": round(statistics.mean(values), 2), "psnr_sd": round(statistics.stdev(values), 2)}
    for model, values in SAMPLES.items()
}
STUDY = ImageStudy(
    "div2k",
    "DIV2K, 512x512, mean of the samples, 500 iterations (the paper does not say how many)",
    rows_of(*SAMPLES),
    Length(500),
    PUBLISHED,
    Preparation(crop=(512, 512)),
    figures={"div2k": partial(dots, published=PUBLISHED)},
    needs="images of DIV2K, of which the centre 512x512 is taken",
    time="7 networks x 2 recipes x 5 images: 6 min on an H200",
).study()
