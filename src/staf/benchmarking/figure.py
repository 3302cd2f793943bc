"""The picture of a run: one group of bars per case."""

from __future__ import annotations

from pathlib import Path

from staf._documents import Document
from staf.benchmarking.report import three_figures

RELEASED = {"released": "#9aa0a6", "released, torch.compile": "#c6a15b"}


def draw(document: Document, path: Path) -> Path:
    """Horizontal bars of milliseconds on a logarithmic axis, each with its ratio to the released form; a PNG."""
    from staf._files import atomic_path
    from staf.figures.palette import COLOURS
    from staf.figures.style import new_figure

    records = [record for record in document["records"] if record["ms"] is not None]
    colours, left = dict(RELEASED), iter(COLOURS)
    places, ticks, names = [], [], []
    place, last = 0.0, None
    for record in records:
        if record["case"] != last:
            place += 0.8 if last is not None else 0.0
            ticks.append([place, place])
            names.append(record["case"])
            last = record["case"]
        ticks[-1][1] = place
        places.append(place)
        place += 1.0
    figure = new_figure(10, 1.6 + 0.3 * place)
    axes = figure.add_subplot()
    for record, at in zip(records, places, strict=True):
        version = record["version"]
        if version not in colours:
            colours[version] = next(left, "#57606a")
        seen = axes.get_legend_handles_labels()[1]
        axes.barh(at, record["ms"], 0.9, color=colours[version], label=None if version in seen else version)
        ratio = "" if version == "released" else f"  ({record['ratio']:.1f}x)" if record["ratio"] else ""
        axes.text(record["ms"] * 1.05, at, f"{three_figures(record['ms'])} ms{ratio}", va="center", fontsize=8)
    axes.set_xscale("log")
    times = [record["ms"] for record in records]
    axes.set_xlim(min(times) / 2, max(times) * 6)
    axes.set_yticks([sum(tick) / 2 for tick in ticks], names, fontsize=9)
    axes.set_ylim(place - 0.2, -0.8)
    axes.set_xlabel("milliseconds, logarithmic; shorter is better")
    machine = document["machine"]
    axes.set_title(
        f"{machine['gpu'] or machine['cpu']}, torch {document['versions']['torch']}", fontsize=10, loc="left"
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
    return path
