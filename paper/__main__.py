"""Run a table or figure of the paper, or draw it from its result files: `python -m paper NAME --data DIR [--quick]`.

`python -m paper --list` shows all names. Argument parsing is the standard library's, so that a machine with torch and
numpy alone can run experiments.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, ModuleType

from paper import EXPERIMENTS
from paper.data.folder import fill_data, write_quick_data
from paper.runner import load_results, run_experiment


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 if every run has a result, 1 if some failed, 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words == ["--list"]:
        print(overview())
        return 0
    arguments = parser(quick="--quick" in words).parse_args(words)
    module = importlib.import_module(EXPERIMENTS[arguments.experiment])
    folder = arguments.folder or Path("results") / (arguments.experiment + ("-quick" if arguments.quick else ""))
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        if arguments.draw_only:
            results, failures = load_results(folder, module.NAME), []
        else:
            data = arguments.data
            if arguments.quick and data is None and not getattr(arguments, module.DATA):
                data = write_quick_data(folder / "data", module.DATA)
            fill_data(arguments, module.DATA, data)
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
        print(f"paper: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"stopped; rerun the same command to continue (results in {folder})", file=sys.stderr)
        return 128 + int(getattr(stop, "signal_number", signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 1 if failures else 0


class _Terminated(KeyboardInterrupt):
    signal_number = signal.SIGTERM


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def overview() -> str:
    """Every experiment with the data it needs and what it shows, a line each."""
    rows = [("NAME", "DATA", "")]
    for name, home in EXPERIMENTS.items():
        module = importlib.import_module(home)
        rows.append((name, module.DATA, _summary(module)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{name:{widths[0]}}  {data:{widths[1]}}  {text}".rstrip() for name, data, text in rows)


def _summary(module: ModuleType) -> str:
    return (module.__doc__ or "").splitlines()[0]


def parser(*, quick: bool = False) -> argparse.ArgumentParser:
    """All experiments, each with its own options and the runner's; `quick` sets the defaults of a quick run."""
    runner = argparse.ArgumentParser(add_help=False)
    runner.add_argument("--data", type=Path, metavar="DIR", help="folder with the images, recording or shapes")
    runner.add_argument("--quick", action="store_true", help="small data and few steps: a check in seconds, no result")
    runner.add_argument("--folder", type=Path, help="where results are kept (default: results/NAME)")
    runner.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core; one on a GPU)")
    runner.add_argument("--device", help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    runner.add_argument("--retry", action="store_true", help="rerun what failed before")
    runner.add_argument("--draw-only", action="store_true", help="run nothing: draw table and figures from the results")
    runner.add_argument("--no-figures", action="store_true", help="no figures (they need matplotlib)")
    runner.add_argument("--progress", action=argparse.BooleanOptionalAction, default=True)
    whole = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    whole.add_argument("--list", action="store_true", help="show all names with the data they need")
    verbs = whole.add_subparsers(dest="experiment", required=True, metavar="NAME")
    for name, home in EXPERIMENTS.items():
        module = importlib.import_module(home)
        own = verbs.add_parser(name, parents=[runner], description=_summary(module), help=_summary(module))
        module.add_arguments(own)
        if quick:
            own.set_defaults(**module.QUICK)
    return whole


if __name__ == "__main__":
    sys.exit(main())
