"""`staf bench`: how fast training and inference are on this machine, beside the released formulas."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from staf.cli.errors import UserError
from staf.cli.options import Device, Flag, OutFolder, device_name
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal

RESULT, TABLE, FIGURE = "bench.json", "bench.md", "bench.png"


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure the speed of STAF and SIREN on this machine, as released and by this library. It takes about a minute.

    Every operation is first compared with its formula in float64; if one is wrong, nothing is timed and the exit code
    is 1. The folder (runs/bench unless --out names another) gets bench.json, bench.md and bench.png.
    """

    device: Device = None
    """cpu, cuda or cuda:N (default: a GPU if there is one)."""
    only: Annotated[str, arg(metavar="PATTERN")] = "*"
    """Run only cases whose label matches, such as 'train*' or '*siren*'."""
    out: OutFolder = None
    """The folder to write to."""
    overwrite: Flag = False
    """Replace an earlier run in the folder."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""


def options_for(words: Sequence[str]) -> type[Any]:
    return Bench


def run(options: Bench, terminal: Terminal) -> int:
    """Gate, time, write, draw."""
    device = device_name(options.device)
    folder = options.out or Path("runs") / "bench"
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    if (folder / RESULT).exists() and not options.overwrite:
        raise UserError(f"{folder} already holds a run: name another folder with --out, or replace it with --overwrite")
    from staf import benchmarking
    from staf._files import atomic_write

    cases = benchmarking.short_cases(device)
    chosen = benchmarking.matching(cases, options.only)
    if not chosen:
        labels = "; ".join(case.label for case in cases)
        raise UserError(f"--only {options.only!r} matches no case; the cases are {labels}")
    prepare_folder(folder, MEBIBYTE)
    try:
        document = benchmarking.run_cases("short", chosen, device=device, seed=secrets.randbits(31), say=terminal.note)
    except benchmarking.GateError as error:
        terminal.note(f"staf: {error}")
        return 1
    atomic_write(folder / RESULT, json.dumps(document, indent=1))
    atomic_write(folder / TABLE, benchmarking.to_markdown(document))
    figure = benchmarking.draw(document, folder / FIGURE)
    table = benchmarking.summary_table(document)
    terminal.table(table.title, table.columns, table.rows)
    terminal.say(f"figure: {figure}")
    failures = benchmarking.failures(document)
    for failure in failures:
        terminal.note(failure)
    terminal.finish({"verb": "bench", "out": str(folder), "figure": str(figure), **document})
    return 1 if failures else 0
