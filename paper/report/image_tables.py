"""The tables of docs/results/images.md: every study of networks on images, from its kept results."""

from __future__ import annotations

from collections.abc import Sequence

from paper.report.side_by_side import SHORT, row_of, values_of
from paper.runner.result import RunResult
from paper.study.study import Study
from staf._tables import Table, mean

STUDIES = (
    "kodak", "distortion-perception", "celeba", "div2k", "tau-ablation", "component-ablation", "sharing-ablation",
    "freezing", "matched-parameters", "hash-grid", "omega0", "mixed-frequencies", "lpips-training", "cost-table",
    "image-curves",
)  # fmt: skip
# Most of those runs shared a machine, so that their seconds say nothing.
SECONDS = ("training (s)", "inference (s)")
# The study whose seconds are the question, and the image whose runs had the machine for themselves.
TIMED, TIMED_IMAGE = "tau-ablation", "kodim05"
# The study whose first table is of counts and whose second is of quality.
COUNTED = "cost-table"
# The study whose pictures differ in what they contain, so that their mean says nothing.
BY_PICTURE = "mixed-frequencies"


def study_tables(study: Study, results: Sequence[RunResult]) -> dict[str, Table]:
    """A study's tables by name: its own, `-small` of narrower networks, and `-seconds` where they were measured."""
    full = [result for result in results if not is_small(result)]
    small = [result for result in results if is_small(result)]
    found = {study.name: image_table(study, full), f"{study.name}-small": image_table(study, small)}
    # One iteration is run where counts alone are wanted.
    fitted = [result for result in full if int(result.configuration["length"]["iterations"]) > 1]
    if study.name == COUNTED and fitted:
        found[f"{COUNTED}-quality"] = without_seconds(study.tables(fitted)[1])
    if study.name == TIMED:
        found[f"{TIMED}-seconds"] = seconds_table(study, full)
    return found


def is_small(result: RunResult) -> bool:
    """Whether a run's network has another width than its own, as where the full size takes too long."""
    return "width" in result.configuration["row"]["arguments"]


def seconds_table(study: Study, results: Sequence[RunResult]) -> Table:
    """Seconds of a study on the image that ran alone, with the paper's; without rows where it was not run."""
    alone = [result for result in results if result.data_name == TIMED_IMAGE and result.document["device"] != "cpu"]
    if not alone:
        return Table(study.summary, [], [])
    first = study.tables(alone)[0]
    keep = [place for place, name in enumerate(first.columns) if name == "network" or name.startswith(SECONDS)]
    rows = [[row[place] for place in keep] for row in first.rows if "not run" not in row]
    return Table(study.summary, [first.columns[place] for place in keep], rows)


def image_table(study: Study, results: Sequence[RunResult]) -> Table:
    """The table of a study without seconds, or one of PSNR by picture; without rows where nothing was run."""
    if not results:
        return Table(study.summary, [], [])
    if study.name == BY_PICTURE:
        return by_picture(study.summary, results)
    return without_seconds(study.tables(results)[0])


def without_seconds(table: Table) -> Table:
    """The table without seconds, without rows that were not run, and without columns that have nothing."""
    rows = [row for row in table.rows if "not run" not in row]
    empty = [all(row[place] == "-" for row in rows) for place in range(len(table.columns))]
    keep = [n for n, name in enumerate(table.columns) if not name.startswith(SECONDS) and not empty[n]]
    rows = [[row[place] for place in keep] for row in rows]
    return Table(table.title, [table.columns[place] for place in keep], rows)


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
