"""The tables of docs/results/images.md: every study of networks on images, from its kept results."""

from __future__ import annotations

from collections.abc import Sequence

from paper.report.side_by_side import SHORT, row_of, values_of
from paper.runner.result import RunResult
from paper.study.study import Study
from staf._tables import Table, mean

STUDIES = (
    "kodak", "distortion-perception", "celeba", "div2k", "tau-ablation", "component-ablation", "sharing-ablation",
    "freezing", "matched-parameters", "hash-grid", "omega0", "mixed-frequencies", "lpips-training",
)  # fmt: skip
# Several of those runs shared a machine, so that their seconds say nothing.
SECONDS = ("training (s)", "inference (s)")
# The study whose pictures differ in what they contain, so that their mean says nothing.
BY_PICTURE = "mixed-frequencies"


def image_table(study: Study, results: Sequence[RunResult]) -> Table:
    """The table of a study without seconds, or one of PSNR by picture; without rows where nothing was run."""
    if not results:
        return Table(study.summary, [], [])
    if study.name == BY_PICTURE:
        return by_picture(study.summary, results)
    first = study.tables(results)[0]
    keep = [place for place, name in enumerate(first.columns) if not name.startswith(SECONDS)]
    rows = [[row[place] for place in keep] for row in first.rows if "not run" not in row]
    return Table(first.title, [first.columns[place] for place in keep], rows)


def by_picture(title: str, results: Sequence[RunResult]) -> Table:
    """PSNR in dB: a row for each network and protocol, best mean first, and a column for each picture."""
    groups: dict[tuple[str, str], list[RunResult]] = {}
    for result in results:
        groups.setdefault((row_of(result), str(result.configuration["protocol"])), []).append(result)
    found = {key: values_of(group, "psnr") for key, group in groups.items()}
    pictures = list(dict.fromkeys(name for values in found.values() for name in values))
    rows = [
        [row, SHORT[protocol], *(f"{values[name]:.1f}" if name in values else "-" for name in pictures)]
        for (row, protocol), values in sorted(found.items(), key=lambda item: -mean(list(item[1].values())))
    ]
    return Table(title, ["network", "recipe", *pictures], rows)
