"""STAF, SIREN and a hash grid on one image (Figure "STAF, SIREN and hash encoding")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paper.report.pictures import iteration_curves, reconstructions
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row
from staf._tables import Table

# Read off the text: STAF "over 100 dB", which no 8-bit picture needs and float32 hardly holds; the others "about".
PUBLISHED = {"staf": {"psnr": 100.0}, "hash grid": {"psnr": 70.0}, "siren": {"psnr": 38.0}}
SAID = {"staf": "> 100", "hash grid": "about 70", "siren": "about 38"}
IMAGES = ImageStudy(
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
)


def tables(results: Sequence[RunResult]) -> list[Table]:
    """The usual table, with the paper's numbers as it says them: none of them is exact."""
    (table,) = IMAGES.side_by_side(results)
    place = table.columns.index("PSNR, published")
    rows = [[*row[:place], SAID.get(row[0], row[place]), *row[place + 1 :]] for row in table.rows]
    return [Table(table.title, table.columns, rows)]


STUDY = replace(IMAGES, make_tables=tables).study()
