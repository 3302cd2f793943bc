"""STAF with omega0 30 and 40, "found that 40 also works well" (Section "More Implementation Details")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import dots
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

VALUES = (20, 30, 40, 60)
STUDY = ImageStudy(
    "omega0",
    "STAF by omega0 of all layers, Kodak, 500 iterations; paper: 30, and 40 also works well",
    tuple(Row(f"omega0 {value}", "staf", {"omega0": float(value), "hidden_omega0": float(value)}) for value in VALUES),
    Length(500),
    preparation=Preparation(crop=(512, 512), size=(256, 256)),
    figures={"omega0": dots},
    needs="Kodak images; a few are enough",
    time="4 rows x 2 recipes: 10 s an image on an H200",
).study()
