"""The tables of docs/results from its `data/*.json`, and that data from the result files of a run.

    python -m paper.report.page_tables                               # write the tables into the pages
    python -m paper.report.page_tables collect audio results/audio   # add the results of a run to the data
    python -m paper.report.page_tables collect all results           # of all experiments, as `paper rows` leaves them

A table is written between `<!-- table NAME -->` and `<!-- end -->` of its page: do not edit it by hand. What has no
results yet is written as "Not run."
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paper import EXPERIMENTS
from paper.report import image_tables
from paper.report.protocol_table import without_seconds
from paper.report.restored_images import image_table
from paper.report.rows import deviation, row_name
from paper.runner import RunResult, load_results
from staf._tables import Table, mean, number

PAGES = Path(__file__).parents[2] / "docs" / "results"
DATA = PAGES / "data"
# The pages, and the experiments whose tables each shows.
FRESH_NETWORKS = ("ntk-audio", "ntk-image", "activation-distributions", "activations")
# Experiments that look into networks and have one table.
LOOKING = (*FRESH_NETWORKS, "dynamics")
IMAGE_STUDIES = (*(name for name in image_tables.STUDIES if name != "tokyo"), "dynamics")
# Tables of smaller networks and pictures have a page of their own, by how their names end.
SMALL = re.compile(r"-(small|narrow)(-pairs)?$")
SHOWN = {
    "audio": ("audio",),
    "shapes": ("shapes",),
    "super-resolution": ("super-resolution",),
    "denoising": ("denoising",),
    "fresh-networks": FRESH_NETWORKS,
    "do-sines-help": ("do-sines-help",),
    "do-sines-help-evidence": ("do-sines-help-evidence",),
    "scenes": ("nerf",),
    "images": IMAGE_STUDIES,
    "images-small": IMAGE_STUDIES,
    "large-images": ("tokyo",),
}
NAMES = tuple(dict.fromkeys(name for names in SHOWN.values() for name in names))
# Shapes of the tables of all networks: voxels of the longest side, and steps.
SHORT = (256, 500)
# Images of different sets have a table each, by how their names begin: Kodak at 256x256, crops of DIV2K at 512x512.
IMAGES = {"": "kodim", "-512": "test_"}
KEPT = ("experiment", "label", "protocol", "configuration", "data", "metrics", "device", "versions", "commit", "date")
DETAILS = (
    "steps", "seconds", "parameters", "stopped", "kept_step", "oracle_step", "final_psnr", "grid", "rows", "images",
    "training_seconds", "values", "rate", "search", "step_ms", "width", "constants", "quantised", "code", "pictures",
    "step_factor", "code_rate", "held_out", "operations", "memory", "inference_seconds",
)  # fmt: skip


def read(name: str) -> list[RunResult]:
    """The kept results of an experiment; none if it was not run."""
    if not (DATA / f"{name}.json").exists():
        return []
    documents = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return [RunResult(DATA / f"{name}.json", document) for document in documents]


def tables(name: str) -> dict[str, Table]:
    """The tables of an experiment's page, by name; without seconds, since several of those runs shared a machine."""
    if name.startswith("do-sines-help"):
        from paper.sines.page import evidence_tables, page_tables

        return (evidence_tables if name.endswith("evidence") else page_tables)(read("do-sines-help"))
    module: Any = importlib.import_module(EXPERIMENTS[name])
    results = read(name)
    if name == "shapes":
        short = [result for result in results if _length(result) == SHORT]
        found = {part: without_seconds(table) for part, table in module.shape_tables(short).items()}
        longer = [result for result in results if _length(result) != SHORT]
        return {**found, "shapes-long": long_table(longer), "shapes-long-chamfer": long_table(longer, "chamfer", 2)}
    if name == "audio":
        return {name: without_seconds(module.table(results))}
    if name == "nerf":
        parts = {name: module.of_the_paper(results), f"{name}-finer": module.of_finer(results)}
        return {
            part: next(map(without_seconds, module.scene_tables(found)), Table(part, [], []))
            for part, found in parts.items()
        }
    if name in image_tables.STUDIES:
        study = module.STUDY
        return image_tables.study_tables(study, results or read(study.reads))
    if name in LOOKING:
        return {name: module.STUDY.tables(results)[0]}
    first = [result for result in results if result.configuration["seed"] == 0]
    sets = {part: [r for r in first if r.data_name.startswith(images)] for part, images in IMAGES.items()}
    title = module.table([]).title
    found = {name + part: image_table(title, runs, module.PUBLISHED) for part, runs in sets.items() if runs}
    own = {name: found.pop(name, Table(title, [], []))}
    if name == "denoising":
        own[f"{name}-colour"] = colour_table(title, sets[""])
    return {**own, f"{name}-seeds": seed_table(title, results), **found}


def tables_of_page(page: str) -> dict[str, Table]:
    """The tables of a page by name."""
    found = {key: table for one in SHOWN[page] for key, table in tables(one).items()}
    if page not in ("images", "images-small"):
        return found
    return {key: table for key, table in found.items() if bool(SMALL.search(key)) == (page == "images-small")}


def _length(result: RunResult) -> tuple[int, int]:
    """Voxels of the longest side and steps of a fit of a shape."""
    return int(result.configuration["resolution"]), int(result.details["steps"])


def long_table(results: Sequence[RunResult], metric: str = "iou", digits: int = 5) -> Table:
    """A row for each shape and length, each network under our settings in a column: the mean over seeds.

    Where there are several seeds, their standard deviation and number stand beside it.
    """
    runs: dict[tuple[str, int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        if metric in result.metrics:
            runs[result.data_name, *_length(result)][str(result.configuration["model"])].append(result.metrics[metric])
    models = sorted({model for found in runs.values() for model in found}, key=lambda model: (model != "staf", model))

    def cell(values: Sequence[float]) -> str:
        def said(value: float) -> str:
            return number(value, digits, scientific=metric == "chamfer")

        spread = deviation(values)
        several = "" if spread is None else f" ± {said(spread)}"
        return said(mean(values)) + several + (f" ({len(values)})" if len(values) > 1 else "")

    rows = [
        [name, str(voxels), f"{steps:,}", *(cell(found[model]) if model in found else "-" for model in models)]
        for (name, voxels, steps), found in sorted(runs.items(), key=lambda item: (item[0][1:], item[0][0]))
    ]
    return Table("Shapes, more steps", ["shape", "voxels", "steps", *models], rows)


def seed_table(title: str, results: Sequence[RunResult]) -> Table:
    """A row for each network, protocol and image that has run with more than one seed, best mean first."""
    runs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for result in results:
        key = (row_name(result.configuration), result.configuration["protocol"], result.data_name)
        runs[key].append(result.metrics["psnr"])
    several = sorted((item for item in runs.items() if len(item[1]) > 1), key=lambda item: (item[0][2], -mean(item[1])))
    rows = [
        [*key, number(min(found)), number(mean(found)), number(max(found)), str(len(found))] for key, found in several
    ]
    return Table(title, ["network", "protocol", "image", "lowest", "mean", "highest", "seeds"], rows)


def colour_table(title: str, results: Sequence[RunResult]) -> Table:
    """A row for each run whose errors of brightness and colour were measured, the worst colour of an image last.

    Errors of colour are those of the two colour differences, in decibels as PSNR.
    """
    measured = sorted((r for r in results if "chroma_psnr" in r.metrics), key=lambda r: -r.metrics["chroma_psnr"])
    shown = {"psnr": 2, "luma_psnr": 2, "chroma_psnr": 2, "lpips": 4}
    rows = [
        [
            row_name(result.configuration),
            str(result.configuration["protocol"]),
            result.data_name,
            *(number(result.metrics.get(key, math.nan), digits) for key, digits in shown.items()),
        ]
        for result in sorted(measured, key=lambda result: result.data_name)
    ]
    return Table(title, ["network", "protocol", "image", "PSNR", "brightness", "colour", "LPIPS"], rows)


def with_tables(text: str, found: Mapping[str, Table]) -> str:
    """The page with its tables; a name that the data lacks is an error."""

    def one(match: re.Match[str]) -> str:
        table = found[match[1]]
        lines = table.to_markdown().split("\n", 2)[2] if table.rows else "Not run.\n"
        return f"<!-- table {match[1]} -->\n{lines}<!-- end -->"

    return re.sub(r"<!-- table (\S+) -->\n.*?<!-- end -->", one, text, flags=re.S)


def kept(result: RunResult, commit: str | None) -> dict[str, Any]:
    """What is kept of a result: what was run, where, and its measures, without arrays and history."""
    document = {name: result.document[name] for name in KEPT}
    document["metrics"] = {name: _short(value) for name, value in result.document["metrics"].items()}
    document["details"] = {n: _short(result.details[n]) for n in DETAILS if n in result.details}
    document["machine"] = result.document["machine"]["gpu"] or result.document["machine"]["cpu"]
    document["commit"] = document["commit"] or commit
    return document


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def collect(name: str, folders: Sequence[str], commit: str | None) -> None:
    """Add the results of folders to data/NAME.json; a later run of the same configuration replaces an earlier one."""
    before = json.loads((DATA / f"{name}.json").read_text("utf-8")) if (DATA / f"{name}.json").exists() else []
    new = [kept(result, commit) for folder in folders for result in load_results(folder, name)]
    found = {_place(run): run for run in [*before, *new]}
    lines = ",\n".join(json.dumps(found[key], ensure_ascii=False) for key in sorted(found))
    (DATA / f"{name}.json").write_text(f"[\n{lines}\n]\n", "utf-8")
    print(f"{name}: {len(found)} results")


def _place(run: Mapping[str, Any]) -> str:
    """What a run is of: a later one of the same takes its place, whichever machine it was planned for."""
    told = {key: value for key, value in run["configuration"].items() if value is not None and key != "planned_for"}
    return json.dumps([told, run["data"]["sha256"]], sort_keys=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", nargs="?", choices=["collect"])
    parser.add_argument("name", nargs="?", choices=["all", *EXPERIMENTS], metavar="NAME")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--commit", help="the commit that ran, where the machine had no history")
    arguments = parser.parse_args()
    if arguments.verb:
        for name in EXPERIMENTS if arguments.name == "all" else [arguments.name]:
            folders = [str(Path(f) / name) for f in arguments.folders] if arguments.name == "all" else arguments.folders
            if any(load_results(folder, name) for folder in folders):
                collect(name, folders, arguments.commit)
        return
    for name in SHOWN:
        page = PAGES / f"{name}.md"
        page.write_text(with_tables(page.read_text("utf-8"), tables_of_page(name)), "utf-8")


if __name__ == "__main__":
    main()
