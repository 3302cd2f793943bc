"""Tangent kernels on the paper's recording: STAF, FINER, SIREN, FFN (Figure "Empirical NTK ... audio")."""

from __future__ import annotations

from paper.experiments.ntk import PROTOCOL, figure, look
from paper.study.looking import LookingStudy

PUBLISHED = {"STAF, τ = 5": "larger log-eigenvalues over much of the spectrum than FINER, SIREN and FFN"}
STUDY = LookingStudy(
    "ntk-audio",
    "Empirical NTK on a recording: samples from its middle, at their own spacing",
    look,
    figure,
    PROTOCOL,
    data="recording",
    options={"points": 1024, "width": 256},
    published=PUBLISHED,
    quick={"points": 64, "width": 16, "rate": 8000},
    needs="gt_bach.wav of the SIREN repository",
    time="half a minute on a CPU",
).study()
