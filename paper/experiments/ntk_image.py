"""Tangent kernels on an image: STAF, FINER, SIREN, FFN and a ReLU network (Figure "Empirical NTK analysis")."""

from __future__ import annotations

from paper.experiments.ntk import PROTOCOL, figure, look
from paper.study.looking import LookingStudy

PUBLISHED = {
    "STAF, τ = 5": "finer eigenfunctions, larger eigenvalues, more of them than SIREN and ReLU",
    "STAF, τ = 2": "much like τ = 5",
}
STUDY = LookingStudy(
    "ntk-image",
    "Empirical NTK on an image",
    look,
    figure,
    PROTOCOL,
    data="images",
    options={"points": 1600, "width": 256},
    published=PUBLISHED,
    quick={"points": 64, "width": 16},
    needs="one image",
    time="half a minute on a CPU",
).study()
