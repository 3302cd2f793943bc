# ruff: noqa: T201
"""`python -m staf.experiments NAME ...`: run an experiment, or draw one from its result files.

Argument parsing is the standard library's, so that a machine with torch and numpy alone can run experiments.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from staf.experiments import EXPERIMENTS, load_results, run_experiment


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 if every run has a result, 1 if some failed, 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM."""
    arguments = parser().parse_args(argv)
    module = importlib.import_module(EXPERIMENTS[arguments.experiment])
    folder = arguments.folder or Path("results") / arguments.experiment
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        if arguments.draw_only:
            results, failures = load_results(folder, module.NAME), []
        else:
            experiment, configurations = module.sweep(arguments)
            sweep = run_experiment(
                experiment,
                configurations,
                folder,
                workers=arguments.workers,
                device=arguments.device,
                retry=arguments.retry,
                progress=arguments.progress,
            )
            results, failures = sweep.results, sweep.failures
        if results:
            print(module.table(results).to_text())
        for failure in failures:
            print(f"failed: {failure.document['label']}: {failure.summary}", file=sys.stderr)
        if not arguments.no_figures and (results or arguments.draw_only):
            for path in module.draw(results, folder):
                print(path)
    except ValueError as error:
        print(f"staf.experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"stopped; the same command goes on where it was (results in {folder})", file=sys.stderr)
        return 128 + int(getattr(stop, "signal_number", signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 1 if failures else 0


class _Terminated(KeyboardInterrupt):
    signal_number = signal.SIGTERM


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def parser() -> argparse.ArgumentParser:
    """All experiments, each with its own options and the runner's."""
    runner = argparse.ArgumentParser(add_help=False)
    runner.add_argument("--folder", type=Path, help="where results are kept (default: results/NAME)")
    runner.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core; one on a GPU)")
    runner.add_argument("--device", help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    runner.add_argument("--retry", action="store_true", help="run again what failed before")
    runner.add_argument("--draw-only", action="store_true", help="run nothing: table and figures from the results")
    runner.add_argument("--no-figures", action="store_true", help="no figures (they need matplotlib)")
    runner.add_argument("--progress", action=argparse.BooleanOptionalAction, default=True)
    whole = argparse.ArgumentParser(prog="python -m staf.experiments", description=__doc__)
    verbs = whole.add_subparsers(dest="experiment", required=True)
    for name, home in EXPERIMENTS.items():
        module = importlib.import_module(home)
        own = verbs.add_parser(name, parents=[runner], description=(module.__doc__ or "").splitlines()[0])
        module.add_arguments(own)
    return whole


if __name__ == "__main__":
    sys.exit(main())
