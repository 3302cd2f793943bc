"""The table of codes of pictures, and what the better kind has over the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from paper.runner.result import RunResult
from paper.sines.code_arms import CODE_ARMS
from paper.sines.merged import standard_error
from staf._tables import Table

# The rate of runs of codes that were kept before their rate was.
FIRST_META_RATE = 1e-3


def code_table(results: Sequence[RunResult]) -> Table:
    """A row for each kind of code, rate and size: means over seeds with their standard errors."""
    order = {arm: place for place, arm in enumerate(CODE_ARMS)}
    # Seeds may have been run apart.
    runs: dict[tuple[int, int, int, int, float, float], list[RunResult]] = {}
    for result in (r for r in results if r.configuration["part"] == "codes"):
        details = result.details
        arm, rate = order[str(result.configuration["arm"])], float(details.get("rate", FIRST_META_RATE))
        steps, factor = int(result.configuration["steps"]), details.get("step_factor", math.nan)
        key = (details["code"], steps, arm, details["width"], rate, factor)
        runs.setdefault(key, []).append(result)
    rows = []
    for (code, steps, place, width, rate, factor), same in sorted(runs.items()):
        columns = [np.concatenate([r.details["values"][name] for r in same]) for name in same[0].details["values"]]
        known = [value for r in same for value in r.details.get("held_out", ())]
        cells = [f"{np.mean(known):.2f}" if known else "", *(_mean_of(column) for column in columns)]
        sizes = [str(code), f"{same[0].details['parameters']:,}", str(width), f"{steps:,}", f"{rate:g}"]
        first = f"x{factor:g}" if math.isfinite(factor) else ""
        rows.append([list(CODE_ARMS)[place], *cells, *sizes, first, str(len(columns[0]))])
    measures = ["held out", "after 3 steps", "after 100 steps"]
    sizes = ["numbers a picture", "shared parameters", "width", "learnt by", "rate", "first steps", "seeds"]
    return Table(
        "Codes of new faces: PSNR (dB), mean over seeds and its standard error", ["code", *measures, *sizes], rows
    )


def _mean_of(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {standard_error(values):.2f}"
