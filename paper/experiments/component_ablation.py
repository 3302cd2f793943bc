"""Amplitude, frequency and phase trained alone and together (Figure "Ablation of modulation components")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import iteration_curves
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

PARTS = {
    "freq + phase + amp": ("amplitude", "frequency", "phase"),
    "freq + amp": ("amplitude", "frequency"),
    "phase + amp": ("amplitude", "phase"),
    "freq + phase": ("frequency", "phase"),
    "amp": ("amplitude",),
    "freq": ("frequency",),
    "phase": ("phase",),
    "none": (),
}
# The paper's figure has curves and no numbers: all three together are best; of one alone, amplitude is best, then
# frequency, then phase.
STUDY = ImageStudy(
    "component-ablation",
    "STAF with some of C, Omega and Phi trained, 500 iterations; paper: all three best, then amp > freq > phase",
    tuple(Row(name, "staf", {"train": parts}) for name, parts in PARTS.items()),
    Length(500),
    preparation=Preparation(divide=4),
    figures={"component-ablation": iteration_curves},
    needs="one image of DIV2K at full size, which is divided by 4; several say more",
    time="8 rows x 2 recipes: 1 min an image on an H200",
).study()
