"""STAF per neuron, 213,761 parameters, against SIREN with a fifth layer, 264,193 (Figure "STAF vs. SIREN")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import iteration_curves
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

# The counts are of one output channel: the image is fitted in grey. The figure has curves over 250 epochs.
STUDY = ImageStudy(
    "matched-parameters",
    "STAF per neuron (213,761 parameters) and per layer against SIREN of 5 layers (264,193), 250 epochs, grey",
    (
        Row("staf, per neuron", "staf", {"sharing": "neuron"}),
        Row("staf, per layer", "staf"),
        Row("siren, 5 layers", "siren", {"depth": 5}),
        Row("siren, 4 layers", "siren"),
    ),
    Length(250, epochs=True),
    preparation=Preparation(divide=4, grey=True),
    figures={"matched-parameters": iteration_curves},
    needs="one image of DIV2K at full size (the paper's is 0824), which is divided by 4",
    time="4 rows x 2 recipes: 5 min on an H200",
).study()
