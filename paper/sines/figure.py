"""The figure of the comparison: for each question, what every arm has over the frozen sine.

python -m paper.sines.figure
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from paper.sines.arms import ARMS
from paper.sines.merged import FROZEN, Fits, gain, merged, of, standard_error
from paper.sines.tables import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that colour-blind readers tell apart (Okabe and Ito), and a shape for each arm.
MARKS = {
    "trained Omega": ("#009E73", "D"),
    "5 sines a layer": ("#D55E00", "o"),
    "20 sines a layer": ("#E69F00", "p"),
    "5 sines a neuron": ("#CC79A7", "s"),
    "frozen sine, wider": ("#0072B2", "^"),
    "frozen sine, longer": ("#56B4E9", "v"),
}


def figure(questions: Mapping[str, Sequence[Fits]]) -> Figure:
    """A line for each question: mean differences of its arms from its frozen sine, with standard errors over pairs."""
    from matplotlib.figure import Figure

    lines = {title: _gains(fits) for title, fits in questions.items()}
    lines = {title: gains for title, gains in lines.items() if gains}
    found = Figure(figsize=(8.5, 1.5 + 0.5 * len(lines)), layout="constrained")
    axis = found.subplots()
    for row, gains in enumerate(lines.values()):
        for place, (arm, values) in enumerate(gains.items()):
            colour, shape = MARKS[arm]
            height = row + 0.12 * (place - (len(gains) - 1) / 2)
            error = standard_error(values) if len(values) > 1 else 0.0
            axis.errorbar(values.mean(), height, xerr=error, color=colour, marker=shape, markersize=5, linewidth=1.2)
        if row % 2:
            axis.axhspan(row - 0.5, row + 0.5, color="#f4f4f4", linewidth=0, zorder=0)
    axis.axvline(0, color="#666666", linewidth=0.9, zorder=1)
    axis.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    axis.set_yticks(range(len(lines)), list(lines))
    axis.set_xlabel("dB over the frozen sine, with the standard error over signals and seeds")
    axis.spines[["top", "right"]].set_visible(False)
    shown = [arm for arm in MARKS if any(arm in gains for gains in lines.values())]
    for arm in shown:
        axis.plot([], [], color=MARKS[arm][0], marker=MARKS[arm][1], markersize=5, linewidth=1.2, label=arm)
    if shown:
        found.legend(loc="outside upper center", ncols=min(3, len(shown)), frameon=False, fontsize=9)
    return found


def questions_of(fits: Sequence[Fits]) -> dict[str, list[Fits]]:
    """The fits of any run by part and factor, and by rate where the same rate was given to all arms."""
    found: dict[str, list[Fits]] = {}
    for one in fits:
        title = TITLES.get(one.part, one.part).split(":")[0]
        factor = f", omega0 x{one.factor:g}" if one.factor != 1 else ""
        rate = "" if one.searched else f", rate {one.rate:g}"
        found.setdefault(title + factor + rate, []).append(one)
    return found


def _gains(fits: Sequence[Fits]) -> dict[str, np.ndarray]:
    base = of(fits, arm=FROZEN)
    if not base:
        return {}
    own = {arm: gain(one.values, base[0].values) for arm in ARMS for one in of(fits, arm=arm) if arm != FROZEN}
    return {arm: np.array(list(gains.values())) for arm, gains in own.items() if gains}


def main() -> None:
    from paper.report.output import save_figure
    from paper.report.page_tables import PAGES, read
    from paper.sines.summary import LINES

    fits = merged(read("do-sines-help"))
    shown = {line.title: line.among(fits) for line in LINES if line.drawn}
    print(save_figure(figure(shown), PAGES / "img" / "do-sines-help.png", dpi=120))


if __name__ == "__main__":
    main()
