"""Run a table or figure of the paper, or draw it from its result files: `python -m paper NAME --data DIR [--quick]`.

`python -m paper --list` shows all names; `python -m paper all --quick` runs every one of the paper on small data and
writes a page with all tables and figures. `python -m paper weights --help` publishes the weights of fitted networks.
`python -m paper rows --help` runs a list of such commands by processes that share one GPU. Argument parsing is the
standard library's, so that a machine with torch and numpy alone can run experiments.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from paper import EXPERIMENTS, PAPER
from paper.data.folder import fill_data, named_data, write_quick_data
from paper.report.overview import overview
from paper.runner import Experiment, RunResult, load_results, run_experiment
from paper.runner.options import count
from paper.study.study import Study, study_of
from staf._files import check_writable
from staf._tables import Table

# Commands that are no experiment.
VERBS = ("all", "rows", "weights")
NO_LPIPS = (
    "LPIPS was not measured: it needs its weights (run `python -m staf.metrics.lpips_convert` once), and images of at "
    "least 31 pixels a side"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 if every run has a result, 1 if some failed, 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words == ["--list"]:
        print(overview())
        return 0
    if words[:1] == ["all"]:
        return run_all(words[1:])
    if words[:1] == ["weights"]:
        from paper.experiments.weights import main as weights

        return weights(words[1:])
    if words[:1] == ["rows"]:
        return run_rows(words[1:])
    if not words or (words[0] not in EXPERIMENTS and not words[0].startswith("-")):
        print(f"paper: {_unknown(words)}", file=sys.stderr)
        return 2
    arguments = parser(words).parse_args(words)
    study = load(arguments.experiment)
    arguments.folder = arguments.folder or Path("results") / (study.name + ("-quick" if arguments.quick else ""))
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        results, failures = run(study, arguments)
        if results:
            tables = study.tables(results)
            print("\n\n".join(table.to_text() for table in tables))
            if arguments.quick:
                print("A quick check on small data with few steps: these numbers are not results.")
            elif not arguments.draw_only and _lacks_lpips(tables, results):
                print(NO_LPIPS, file=sys.stderr)
        for failure in failures:
            print(f"failed: {failure.document['label']}: {failure.summary}", file=sys.stderr)
        if failures:
            print("failures are kept, as results are; rerun with --retry to run them again", file=sys.stderr)
        if not arguments.no_figures and (results or arguments.draw_only):
            for path in study.draw(results, arguments.folder):
                print(path)
    except (ValueError, OSError) as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"stopped; rerun the same command to continue (results in {arguments.folder})", file=sys.stderr)
        return 128 + int(getattr(stop, "signal_number", signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 1 if failures else 0


def _lacks_lpips(tables: Sequence[Table], results: Sequence[RunResult]) -> bool:
    """Whether a table has a column for LPIPS and no result has measured it."""
    wanted = any(column.startswith("LPIPS") for table in tables for column in table.columns)
    return wanted and not any("lpips" in result.metrics for result in results)


def _unknown(words: Sequence[str]) -> str:
    """What is said of a command without a name, or with one that does not exist."""
    close = difflib.get_close_matches(words[0], [*EXPERIMENTS, *VERBS], n=1) if words else []
    wrong = f"there is no experiment {words[0]!r}" if words else "the name of an experiment is missing"
    meant = f"; did you mean {close[0]!r}?" if close else "."
    return f"{wrong}{meant} `python -m paper --list` shows all names"


def run(study: Study, arguments: argparse.Namespace) -> tuple[list[RunResult], list[RunResult]]:
    """The results of a study, and the runs that failed; with `--draw-only` those that its folder holds."""
    if arguments.draw_only:
        found = load_results(arguments.folder, study.name)
        return found or (load_results(arguments.folder, study.reads) if study.reads else []), []
    from staf._device import choose_device

    # What would fail in the same way in every run is said once, before any.
    choose_device(arguments.device)
    check_writable(arguments.folder)
    experiment, configurations = configured(study, arguments)
    sweep = run_experiment(
        experiment,
        configurations,
        arguments.folder,
        workers=arguments.workers,
        device=arguments.device,
        retry=arguments.retry,
        progress=arguments.progress,
    )
    return sweep.results, sweep.failures


def configured(study: Study, arguments: argparse.Namespace) -> tuple[Experiment, Sequence[Any]]:
    """The experiment and the configurations that the options ask for, with the data they name."""
    if study.data:
        data = arguments.data
        if arguments.quick and data is None and not getattr(arguments, study.data):
            data = write_quick_data(arguments.folder / "data", study.data)
        fill_data(arguments, study.data, data)
        if not (study.data_by_part or named_data(arguments)):
            raise ValueError(
                f"{study.name} needs data: {study.needs or study.data}. Name their folder with --data, or files with "
                f"--{study.data}; `python -m paper.data.datasets --list` says where the paper's data are published"
            )
    elif arguments.data is not None:
        raise ValueError(f"--data has no effect: {study.name} needs no data")
    return study.sweep(arguments)


def run_rows(words: Sequence[str]) -> int:
    """Run a list of rows; SIGTERM ends its processes too."""
    from paper.runner.rows import main as rows

    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        return rows(words, row)
    except (ValueError, OSError) as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        return 128 + int(getattr(stop, "signal_number", signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, previous)


def row(words: list[str], folder: Path) -> tuple[Experiment, Sequence[Any], Path]:
    """The experiment of one line of a list of rows, its configurations, and the folder of its results."""
    arguments = parser(words).parse_args(words)
    study = load(arguments.experiment)
    arguments.folder = arguments.folder or folder / study.name
    return *configured(study, arguments), arguments.folder


def run_all(words: Sequence[str]) -> int:
    """Run every table and figure of the paper on small data and write one page; nonzero if one has failed."""
    from paper.report.report_page import write_report

    options = argparse.ArgumentParser(prog="python -m paper all", description=run_all.__doc__)
    options.add_argument("--quick", action="store_true", required=True, help="small data and few steps; required")
    options.add_argument("--folder", type=Path, default=Path("results") / "quick")
    options.add_argument("--device", default="cpu")
    options.add_argument("--only", nargs="+", default=list(PAPER), choices=list(PAPER), metavar="NAME")
    arguments = options.parse_args(list(words))
    worst = 0
    for name in arguments.only:
        print(f"== {name}")
        own = ["--quick", "--folder", str(arguments.folder / name), "--device", arguments.device, "--workers", "1"]
        worst = max(worst, code := main([name, *own, "--no-progress"]))
        if code > 128:
            return code
    try:
        print(write_report(arguments.folder, arguments.only))
    except OSError as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    return worst


class _Terminated(KeyboardInterrupt):
    signal_number = signal.SIGTERM


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def load(name: str) -> Study:
    """The study of a name."""
    return study_of(importlib.import_module(EXPERIMENTS[name]))


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """All experiments, each with its own options and the runner's; `--quick` in `words` sets a quick run's defaults."""
    runner = argparse.ArgumentParser(add_help=False)
    runner.add_argument("--data", type=Path, metavar="DIR", help="folder with the images, recording, shapes or scenes")
    runner.add_argument("--quick", action="store_true", help="small data and few steps: a check in seconds, no result")
    runner.add_argument("--folder", type=Path, help="where results are kept (default: results/NAME)")
    runner.add_argument("--workers", type=count, metavar="N", help="processes (default: one per core; one on a GPU)")
    runner.add_argument("--device", help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    runner.add_argument("--retry", action="store_true", help="rerun what failed before")
    runner.add_argument("--draw-only", action="store_true", help="run nothing: draw table and figures from the results")
    runner.add_argument("--no-figures", action="store_true", help="no figures (they need matplotlib)")
    runner.add_argument("--progress", action=argparse.BooleanOptionalAction, default=True, help="a line for each run")
    whole = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    whole.add_argument("--list", action="store_true", help="show all names with the data they need")
    verbs = whole.add_subparsers(dest="experiment", required=True, metavar="NAME")
    # Only what is asked for is imported, which is quicker.
    asked = [word for word in words if word in EXPERIMENTS][:1]
    for name in asked or EXPERIMENTS:
        study = load(name)
        summary = study.summary.replace("%", "%%")
        own = verbs.add_parser(name, parents=[runner], description=summary, help=summary)
        study.add_arguments(own)
        if "--quick" in words:
            own.set_defaults(**study.quick)
    return whole


if __name__ == "__main__":
    sys.exit(main())
