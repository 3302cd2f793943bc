"""The tables of every study of networks on images, from its kept results; docs/results/images.md has most."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from paper.report.side_by_side import SHORT, images_of, row_of, values_of
from paper.runner.result import RunResult
from paper.study.rows import PROTOCOLS
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
# The row that a study compares its others with.
BASES = {
    "tau-ablation": "tau 5", "component-ablation": "none", "sharing-ablation": "per layer", "freezing": "all trained",
    "omega0": "omega0 30", "lpips-training": "mse", "kodak": "staf",
}  # fmt: skip
# What a measure cannot exceed, as it is printed. A column of nothing else does not tell its rows apart.
BEST = re.compile(r"(1\.0000|0\.00000)( ± 0\.0000?0?)?")
# The study whose pictures differ in what they contain, so that their mean says nothing.
BY_PICTURE, FULL_ITERATIONS = "mixed-frequencies", 500
FEWEST_PAIRS = 3


def study_tables(study: Study, results: Sequence[RunResult]) -> dict[str, Table]:
    """A study's tables by name: its own, `-small` of smaller fits, and `-seconds` where costs were measured.

    Made pictures have `-narrow` for narrower networks, which are not those of short fits. Where a GPU and a CPU have
    run fits of full size, the CPU's are in `-cpu`: float32 there and split bfloat16 on a GPU do not end alike.
    """
    full = [result for result in results if not is_small(result)]
    small = [result for result in results if is_small(result)]
    if study.name == BY_PICTURE:
        narrow = [result for result in small if is_narrow(result)]
        short = [result for result in small if not is_narrow(result)]
        parts = {"": full, "-small": short, "-narrow": narrow}
        return {f"{study.name}{part}": image_table(study, runs) for part, runs in parts.items()}
    # Counts are those of every machine.
    slow = [] if study.name == COUNTED else [result for result in full if result.document["device"] == "cpu"]
    found = {}
    if 0 < len(slow) < len(full):
        full = [result for result in full if result not in slow]
        if not study.reads:
            found[f"{study.name}-cpu"] = image_table(study, slow)
    found |= {study.name: image_table(study, full), f"{study.name}-small": image_table(study, small)}
    if study.name in BASES or study.reads:
        found[f"{study.name}-small"] = image_table(study, of_all_rows(small))
    if study.name in BASES:
        for name, runs in ((study.name, full), (f"{study.name}-small", small)):
            found[f"{name}-pairs"] = pairs_table(study, runs, BASES[study.name])
    # One iteration is run where counts alone are wanted.
    fitted = [result for result in full if int(result.configuration["length"]["iterations"]) > 1]
    if study.name == COUNTED:
        quality = without_seconds(study.tables(fitted)[1]) if fitted else Table(study.summary, [], [])
        found[f"{COUNTED}-quality"] = quality
    if study.name in TIMED:
        found[f"{study.name}-seconds"] = seconds_table(study, fitted)
    return found


def of_all_rows(results: Sequence[RunResult]) -> list[RunResult]:
    """The runs of seed 0 on images that every row and protocol has, and all runs where there are no such images.

    Means of different images, or of an image with more seeds than another, could not be compared.
    """
    first = [result for result in results if result.configuration["seed"] == 0]
    groups: dict[tuple[str, str], set[str]] = {}
    for result in first:
        groups.setdefault((row_of(result), str(result.configuration["protocol"])), set()).update(images_of(result))
    shared = set.intersection(*groups.values()) if groups else set()
    kept = [result for result in first if shared.issuperset(images_of(result))]
    return kept if shared and kept else list(results)


def pairs_table(study: Study, results: Sequence[RunResult], base: str) -> Table:
    """PSNR of each row minus that of `base` on the same image with the same seed: over seeds, and over images.

    The networks of one seed begin alike whatever the image is, so that images with one seed say nothing of others.
    """
    found: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for result in results:
        key, seed = (str(result.configuration["protocol"]), row_of(result)), int(result.configuration["seed"])
        for image, measures in images_of(result).items():
            found.setdefault(key, {})[image, seed] = float(measures["psnr"])
    order = [row[0] for row in study.tables(results)[0].rows] if results else []
    rows = []
    for protocol, row in sorted(found, key=lambda key: (PROTOCOLS.index(key[0]), order.index(key[1]))):
        values, others = found[protocol, row], found.get((protocol, base), {})
        pairs = {pair: value - others[pair] for pair, value in values.items() if row != base and pair in others}
        seeds = {image: [d for (i, _), d in pairs.items() if i == image] for image, _ in pairs}
        groups = {"seeds of " + image: found for image, found in seeds.items()}
        groups["images, seed 0"] = [difference for (_, seed), difference in pairs.items() if seed == 0]
        for over, differences in groups.items():
            if len(differences) >= FEWEST_PAIRS:
                spread = f"{mean(differences):+.2f} ± {statistics.stdev(differences):.2f}"
                won = sum(value > 0 for value in differences)
                rows.append([row, SHORT[protocol], spread, f"{won} of {len(differences)}", over])
    return Table(study.summary, ["network", "recipe", f"dB over {base}", "pairs won", "over"], rows)


def is_small(result: RunResult) -> bool:
    """Whether a run is smaller than the study's: its network is narrower, or its made picture has fewer pixels."""
    made = str(result.document.get("experiment")) == BY_PICTURE
    short = made and int(result.configuration["length"]["iterations"]) < FULL_ITERATIONS
    return short or is_narrow(result)


def is_narrow(result: RunResult) -> bool:
    """Whether a run's network was given another width than its study's."""
    return "width" in result.configuration["row"]["arguments"]


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
    """The table without seconds and memory, without rows that were not run, and without columns that say nothing.

    Those are empty, or have the best value that there is in every one of several rows.
    """
    rows = [row for row in table.rows if "not run" not in row]
    columns = [[row[place] for row in rows] for place in range(len(table.columns))]
    best = [len(cells) > 1 and all(BEST.fullmatch(cell) for cell in cells) for cells in columns]
    empty = [all(cell == "-" for cell in cells) or best[place] for place, cells in enumerate(columns)]
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
