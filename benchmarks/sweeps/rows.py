"""Runs of a sweep, one after the other: a line for each on the screen, and all of them in a file."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from staf._files import atomic_write
from staf._machine import provenance

Row = dict[str, Any]
Runs = Iterable[tuple[str, Callable[[], Row]]]


def options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command's options: those of `parser`, and those that every sweep has."""
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--commit", default=None, help="of the code, where it is no git checkout")
    return parser.parse_args()


def measure(runs: Runs, rows: list[Row], given: argparse.Namespace, about: Row) -> None:
    """Make every run that `--only` keeps until `--limit` seconds are over; a run that fails is a row with its error."""
    began = time.monotonic()
    about = {**about, "commit": given.commit} if given.commit else about
    for name, make in runs:
        if not name.startswith(tuple(given.only)):
            continue
        if time.monotonic() - began > given.limit:
            print(f"no time left for: {name}")
            continue
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        try:
            row = {"run": name, **make()}
        except (RuntimeError, ValueError) as error:
            row = {"run": name, "error": str(error)[:300]}
        on_gpu = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
        rows.append({**row, "wall": round(time.monotonic() - began, 1), "gpu_mebibytes": round(on_gpu / 2**20)})
        shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in rows[-1].items()}
        print(json.dumps(shown), flush=True)
        if given.out is not None:
            atomic_write(given.out, json.dumps({**provenance(given.device), **about, "rows": rows}, indent=1))
