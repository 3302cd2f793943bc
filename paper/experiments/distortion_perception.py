"""Ranks by PSNR, SSIM and LPIPS on Kodak: STAF first by two, fourth by LPIPS (Section "Results on the Kodak ...")."""

from __future__ import annotations

from collections.abc import Sequence

from paper.data.preparation import Preparation
from paper.experiments.kodak import MODELS, PUBLISHED
from paper.report.pictures import trade_off
from paper.report.ranks import rank_table
from paper.report.side_by_side import row_of
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy, rows_of
from paper.study.rows import Length
from staf._tables import Table


def tables(results: Sequence[RunResult]) -> list[Table]:
    """The ranks, and the numbers behind them."""
    # Not those at another rate than their authors'.
    own = [result for result in results if row_of(result) in PUBLISHED]
    return [rank_table("Ranks on Kodak", own, PUBLISHED), *IMAGES.side_by_side(own)]


IMAGES = ImageStudy(
    "distortion-perception",
    "Ranks on Kodak by PSNR, SSIM and LPIPS: does a smaller error look better?",
    rows_of(*MODELS),
    Length(1000),
    PUBLISHED,
    Preparation(crop=(512, 512), size=(256, 256)),
    figures={"distortion-perception": trade_off},
    needs="Kodak images, and weights of LPIPS; --folder results/kodak reads the results of `kodak`",
    time="as kodak; of 4 images 2 min on an H200",
    make_tables=tables,
    reads="kodak",
)
STUDY = IMAGES.study()
