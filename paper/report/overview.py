"""What `python -m paper --list` shows: every table and figure, its data, its time, and what has been run of it."""

from __future__ import annotations

import argparse
import importlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paper import OTHERS, PAPER
from paper.report.image_tables import STUDIES, is_small
from paper.report.rows import counted
from paper.runner.result import RunResult
from paper.study.study import Study, study_of

DATA = Path(__file__).parents[2] / "docs" / "results" / "data"


def overview() -> str:
    """A paragraph for each name."""
    lines = ["Tables and figures of the paper:"]
    for name, home in PAPER.items():
        study = study_of(importlib.import_module(home))
        lines.append(f"  {name:26}{study.summary}")
        facts = [("data", study.needs), ("time", study.time), ("run so far", _run_for(name, study.reads))]
        facts.append(("not run yet", not_run(study)))
        lines += [f"  {'':28}{label}: {fact}" for label, fact in facts if fact]
    lines += ["", "Others, run by the same command:"]
    for name, home in OTHERS.items():
        study = study_of(importlib.import_module(home))
        lines.append(f"  {name:26}{study.summary}")
    return "\n".join(lines)


def _run_for(name: str, reads: str) -> str:
    """The runs of a study, or of the one whose results it reads where it has none of its own."""
    found = what_is_run(name)
    return f"{reads}: {what_is_run(reads)}" if found == "nothing" and reads else found


def what_is_run(name: str) -> str:
    """The runs that docs/results/data holds of a study, by protocol; `nothing` where there are none."""
    full, small = _kept(name)
    documents = [*full, *small]
    if not documents:
        return "nothing"
    parts = [_runs(full)] if full else []
    parts += [f"{_runs(small)} of smaller networks or pictures"] if small else []
    return f"{' and '.join(parts)}, {max(str(d['date'])[:10] for d in documents)}"


def not_run(study: Study) -> str:
    """The rows of a study without a run at full size, by protocol where those differ; empty if there is none.

    Protocols that were not run at all are left to `run so far`.
    """
    found = {_row_and_protocol(document["configuration"]) for document in _kept(study.name)[0]}
    missing: dict[str, list[str]] = {protocol: [] for _, protocol in found}
    wanted = study.covers or _models_and_protocols(study)
    for row, protocol in wanted:
        if protocol in missing and (row, protocol) not in found:
            missing[protocol].append(row)
    lists = [missing.get(protocol) for protocol in dict.fromkeys(protocol for _, protocol in wanted)]
    if lists and lists[0] and all(rows == lists[0] for rows in lists):
        return ", ".join(lists[0])
    return "; ".join(f"{', '.join(rows)} ({protocol})" for protocol, rows in missing.items() if rows)


def _row_and_protocol(configuration: Mapping[str, Any]) -> tuple[str, str]:
    row = configuration["row"]["name"] if "row" in configuration else configuration.get("model")
    return str(row), str(configuration.get("protocol"))


def _models_and_protocols(study: Study) -> list[tuple[str, str]]:
    """What a study of models runs without options."""
    options = argparse.ArgumentParser()
    study.add_arguments(options)
    defaults = options.parse_args([])
    return [(m, p) for m in getattr(defaults, "models", ()) for p in getattr(defaults, "protocols", ())]


def _kept(name: str) -> tuple[list[Any], list[Any]]:
    """The kept results of a study: those of full size, and those of smaller networks or pictures."""
    path = DATA / f"{name}.json"
    documents = json.loads(path.read_text("utf-8")) if path.exists() else []
    small = [d for d in documents if name in STUDIES and is_small(RunResult(path, d))]
    return [d for d in documents if d not in small], small


def _runs(documents: Sequence[Mapping[str, Any]]) -> str:
    protocols = Counter(str(d["configuration"]["protocol"]) for d in documents if "protocol" in d["configuration"])
    images = {image for document in documents for image in document.get("details", {}).get("images", {})}
    signals = {document["data"]["name"] for document in documents} if not images else set()
    data = counted(len(images), "image") if images else counted(len(signals), "signal")
    counts = ", ".join(f"{protocol} {count}" for protocol, count in protocols.items())
    return f"{counted(len(documents), 'run')} on {data}" + (f" ({counts})" if counts else "")
