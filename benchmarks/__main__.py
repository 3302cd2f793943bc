"""Run a suite and write its results: `python -m benchmarks --suite gpu --out benchmarks/results/NAME.json`.

The table goes beside the JSON file, with the suffix .md. Exit code 1, and no file, if an operation is wrong; 1 as well
if one of the library's own versions failed.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import to_markdown
from benchmarks.runner import run_suite
from benchmarks.suites import SUITES
from staf._files import atomic_write
from staf.benchmarking import GateError, failures
from staf.benchmarking.timing import Effort


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--suite", choices=list(SUITES), required=True)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file; its table goes beside it as .md")
    parser.add_argument("--device", default=None, help="cpu, cuda or cuda:N; by default what the suite is for")
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of case labels, such as 'train staf*'")
    parser.add_argument(
        "--versions", nargs="+", default=["*"], help="patterns of versions, such as released 'staf tf32'"
    )
    parser.add_argument("--threads", type=int, default=None, help="CPU threads; torch's own number by default")
    parser.add_argument("--seconds", type=float, default=0.6, help="time for the repeats of one timing")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--seed", type=int, default=None, help="of the gate's inputs; fresh by default")
    parser.add_argument("--commit", default=None, help="the commit to record where the copy has no repository")
    options = parser.parse_args(arguments)
    has_gpu = torch.cuda.is_available()
    device = options.device or {"gpu": "cuda", "cpu": "cpu"}.get(options.suite) or ("cuda" if has_gpu else "cpu")
    if options.threads is not None:
        torch.set_num_threads(options.threads)

    def keep(document: dict[str, Any]) -> None:
        document["commit"] = document["commit"] or options.commit
        atomic_write(options.out, json.dumps(document, indent=1))
        atomic_write(options.out.with_suffix(".md"), to_markdown(document))

    try:
        document = run_suite(
            options.suite,
            device=device,
            seed=options.seed if options.seed is not None else secrets.randbits(31),
            only=options.only,
            effort=Effort(options.seconds),
            say=lambda line: print(line, file=sys.stderr, flush=True),
            keep=keep,
            compiled=not options.no_compile,
            versions=options.versions,
        )
    except GateError as error:
        print(error, file=sys.stderr)
        return 1
    print(to_markdown(document))
    for failure in failures(document):
        print(failure, file=sys.stderr)
    return 1 if failures(document) else 0


if __name__ == "__main__":
    sys.exit(main())
