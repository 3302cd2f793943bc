"""STAF, SIREN and a hash grid on one image (Figure "STAF, SIREN and hash encoding")."""

from __future__ import annotations

from paper.report.pictures import iteration_curves, reconstructions
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

# Read off the text: STAF "over 100 dB", which no 8-bit picture needs and float32 hardly holds.
PUBLISHED = {"staf": {"psnr": 100.0}, "hash grid": {"psnr": 70.0}, "siren": {"psnr": 38.0}}
STUDY = ImageStudy(
    "hash-grid",
    "STAF, SIREN and a hash grid on one image, 500 steps; paper: over 100, about 38 and about 70 dB",
    (
        Row("staf", "staf"),
        Row("siren", "siren"),
        Row("hash grid", "ngp", protocols=("ours",)),
        Row("hash grid, STAF behind it", "ngp", {"activation": "staf"}, protocols=("ours",)),
    ),
    Length(500),
    PUBLISHED,
    protocols=("paper", "ours"),
    figures={"hash-grid": iteration_curves, "hash-grid-pictures": reconstructions},
    needs="one image of 256x256 pixels, for example of Kodak",
    time="4 rows: 10 s on an H200",
    quick={"rows": ["staf", "hash grid"]},
).study()
