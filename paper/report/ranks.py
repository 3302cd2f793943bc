"""Who is first by which measure: the paper's ranks beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from paper.report.pictures import groups_of
from paper.report.side_by_side import values_of
from paper.runner.result import RunResult
from paper.study.rows import LABELS
from staf._tables import Table, mean

# Whether more is better.
MEASURES = {"psnr": True, "ssim": True, "lpips": False}


def ranks(values: Mapping[str, float], *, more_is_better: bool) -> dict[str, int]:
    """1 for the best, equal values share a rank.

    >>> ranks({"a": 30.0, "b": 40.0, "c": 40.0}, more_is_better=True)
    {'a': 3, 'b': 1, 'c': 1}
    """
    sign = -1 if more_is_better else 1
    ordered = sorted(sign * value for value in values.values())
    return {name: ordered.index(sign * value) + 1 for name, value in values.items()}


def rank_table(title: str, results: Sequence[RunResult], published: Mapping[str, Mapping[str, float]]) -> Table:
    """A row for each network: its rank by PSNR, SSIM and LPIPS, in the paper and under each protocol."""
    sets = {"paper": {row: dict(measures) for row, measures in published.items()}}
    for protocol, rows in groups_of(results).items():
        sets[LABELS[protocol]] = {
            row: {key: mean(list(values_of(members, key).values())) for key in MEASURES}
            for row, members in rows.items()
        }
    names = list(dict.fromkeys(row for rows in sets.values() for row in rows))
    columns, found = ["network"], []
    for key, more in MEASURES.items():
        for label, measured in sets.items():
            values = {row: m[key] for row, m in measured.items() if key in m and not math.isnan(m[key])}
            if values:
                columns.append(f"{label}: {key.upper()}")
                found.append(ranks(values, more_is_better=more))
    return Table(title, columns, [[name, *(str(column.get(name, "-")) for column in found)] for name in names])
