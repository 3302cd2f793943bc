"""The tables of every study of networks on images, from its kept results; docs/results/images.md has most."""

from __future__ import annotations

from collections.abc import Sequence

from paper.report.side_by_side import SHORT, row_of, values_of
from paper.runner.result import RunResult
from paper.study.study import Study
from staf._tables import Table, mean

STUDIES = (
    "kodak", "distortion-perception", "celeba", "div2k", "tau-ablation", "component-ablation", "sharing-ablation",
    "freezing", "matched-parameters", "hash-grid", "omega0", "mixed-frequencies", "lpips-training", "cost-table",
    "image-curves", "activation-maps", "tokyo",
)  # fmt: skip
# Most of those runs shared a machine, so that their seconds say nothing.
SECONDS = ("training (s)", "inference (s)")
COSTS = (*SECONDS, "memory (GiB)")
# The studies whose costs are the question, and the image and seed whose runs had the GPU for themselves.
TIMED, TIMED_IMAGE, TIMED_SEED = ("tau-ablation", "cost-table"), "kodim05", 0
# The study whose first table is of counts and whose second is of quality.
COUNTED = "cost-table"
# The study whose pictures differ in what they contain, so that their mean says nothing.
BY_PICTURE, FULL_ITERATIONS = "mixed-frequencies", 500


def study_tables(study: Study, results: Sequence[RunResult]) -> dict[str, Table]:
    """A study's tables by name: its own, `-small` of smaller fits, and `-seconds` where costs were measured."""
    full = [result for result in results if not is_small(result)]
    small = [result for result in results if is_small(result)]
    found = {study.name: image_table(study, full), f"{study.name}-small": image_table(study, small)}
    # One iteration is run where counts alone are wanted.
    fitted = [result for result in full if int(result.configuration["length"]["iterations"]) > 1]
    if study.name == COUNTED:
        quality = without_seconds(study.tables(fitted)[1]) if fitted else Table(study.summary, [], [])
        found[f"{COUNTED}-quality"] = quality
    if study.name in TIMED:
        found[f"{study.name}-seconds"] = seconds_table(study, fitted)
    return found


def is_small(result: RunResult) -> bool:
    """Whether a run is smaller than the study's: its network is narrower, or its made picture has fewer pixels."""
    made = str(result.document.get("experiment")) == BY_PICTURE
    short = made and int(result.configuration["length"]["iterations"]) < FULL_ITERATIONS
    return short or "width" in result.configuration["row"]["arguments"]


def seconds_table(study: Study, results: Sequence[RunResult]) -> Table:
    """Seconds and memory of the runs that were alone on a GPU, with the paper's; without rows where there are none."""
    timed = [result for result in results if result.data_name == TIMED_IMAGE and result.document["device"] != "cpu"]
    alone = [result for result in timed if result.configuration["seed"] == TIMED_SEED]
    if not alone:
        return Table(study.summary, [], [])
    first = study.tables(alone)[0]
    keep = [place for place, name in enumerate(first.columns) if name == "network" or name.startswith(COSTS)]
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
    """The table without seconds and memory, without rows that were not run, and without columns that have nothing."""
    rows = [row for row in table.rows if "not run" not in row]
    empty = [all(row[place] == "-" for row in rows) for place in range(len(table.columns))]
    keep = [n for n, name in enumerate(table.columns) if not name.startswith(COSTS) and not empty[n]]
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
