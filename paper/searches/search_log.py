"""The log of a search as one CSV file, a row for each run, and the best trial of each network read back from it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.protocols.plan_variants import PlanVariant
from paper.runner.result import RunResult, load_results
from staf._files import atomic_write
from staf._jsonable import canonical
from staf._tables import mean, number

COLUMNS = (
    *("model", "trial", "signal", "sha256", "seed", "steps", "psnr", "diverged", "training_seconds", "start_seconds"),
    *("step_ms", "parameters", "recipe", "arguments", "optimiser", "rate", "matrix_rate", "device", "torch", "commit"),
    "date",
)


@dataclass(frozen=True)
class Trial:
    """One trial of a network, over all its signals and seeds."""

    number: int
    variant: PlanVariant
    psnr: float
    diverged: int
    runs: int
    rows: Sequence[Mapping[str, str]]


def log_rows(results: Iterable[RunResult]) -> list[dict[str, str]]:
    """A row for each result of the search, every entry as text."""
    rows = []
    for result in results:
        run, document, details = result.configuration, result.document, result.details
        entries = {
            "model": run["variant"]["model"],
            "trial": run["trial"],
            "signal": result.data_name,
            "sha256": document["data"]["sha256"][:12],
            "seed": run["seed"],
            "steps": details["steps"],
            "psnr": f"{result.metrics['psnr']:.3f}",
            "diverged": int(details["diverged"]),
            **{name: details[name] for name in ("training_seconds", "start_seconds", "step_ms", "parameters")},
            "recipe": canonical(run["variant"]["recipe"]),
            "arguments": canonical(run["variant"]["arguments"]),
            **{name: details["recipe"][name] for name in ("optimiser", "rate", "matrix_rate")},
            "device": document["machine"]["gpu"] or document["machine"]["cpu"],
            "torch": document["versions"]["torch"],
            "commit": document["commit"] or "",
            "date": document["date"],
        }
        rows.append({name: str(entries[name]) for name in COLUMNS})
    return sorted(rows, key=lambda row: (row["model"], int(row["trial"]), row["signal"], int(row["seed"])))


def write_log(path: str | Path, rows: Sequence[Mapping[str, str]]) -> Path:
    """Write the log, whole or not at all."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    atomic_write(path, out.getvalue())
    return Path(path)


def read_log(path: str | Path) -> list[dict[str, str]]:
    """The rows of a log file, or of a folder of the search's results."""
    path = Path(path)
    if path.is_dir():
        return log_rows(load_results(path, "recipe-search"))
    if not path.is_file():
        raise ValueError(f"the log must be a CSV file or a folder of results, got {str(path)!r}, which does not exist")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(f"{path} is not the log of a recipe search: it lacks {', '.join(missing)}")
        return list(reader)


def ranked(rows: Sequence[Mapping[str, str]]) -> dict[str, list[Trial]]:
    """Each network's trials, best mean PSNR first; a trial that diverged anywhere comes after all that did not."""
    groups: dict[str, dict[int, list[Mapping[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row["model"]][int(row["trial"])].append(row)
    found = {}
    for model, by_trial in groups.items():
        trials = [_trial(model, number, members) for number, members in by_trial.items()]
        # A trial that has not been run on every signal cannot be compared.
        most = max(trial.runs for trial in trials)
        whole = [trial for trial in trials if trial.runs == most]
        found[model] = sorted(whole, key=lambda t: (t.diverged > 0, math.isnan(t.psnr), -t.psnr, t.number))
    return found


def best_variants(path: str | Path) -> tuple[dict[str, PlanVariant], set[str]]:
    """The best variant of each network in a log, and the names of the signals it was tuned on."""
    rows = read_log(path)
    if not rows:
        raise ValueError(f"{path} has no trial to choose from")
    return {model: trials[0].variant for model, trials in ranked(rows).items()}, {row["signal"] for row in rows}


def _trial(model: str, number: int, rows: Sequence[Mapping[str, str]]) -> Trial:
    changes: dict[str, Any] = {name: json.loads(rows[0][name]) for name in ("recipe", "arguments")}
    psnr = mean([float(row["psnr"]) for row in rows])
    diverged = sum(int(row["diverged"]) for row in rows)
    return Trial(number, PlanVariant(model, "default", **changes), psnr, diverged, len(rows), rows)


def summary(found: Sequence[Trial]) -> list[str]:
    """Of one network's trials, best first: decibels of the default plan, the best and the median; the best's number."""
    default = next((trial for trial in found if trial.number == 0), None)
    return [
        "-" if default is None else number(default.psnr),
        number(found[0].psnr),
        number(sorted(trial.psnr for trial in found)[len(found) // 2]),
        str(found[0].number),
    ]


def trials_figure(results: Sequence[RunResult], label: str) -> Any:
    """Every trial of every network as a dot, the default plan as a ring."""
    from paper.report.dot_plot import dot_figure

    by_model = dict(sorted(ranked(log_rows(results)).items(), key=lambda item: item[1][0].psnr))
    return dot_figure(
        {model: [trial.psnr for trial in members] for model, members in by_model.items()},
        marked={model: [trial.number == 0 for trial in members] for model, members in by_model.items()},
        meaning=("a trial", "the default plan"),
        label=label,
    )
