"""A study: one table or figure of the paper as the command knows it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from paper.runner.experiment import Experiment
from paper.runner.result import RunResult
from staf._tables import Table


@dataclass(frozen=True)
class Study:
    """How a table or figure is run, tabulated and drawn, and what is known of it before.

    Args:
        name: on the command line; also that of the result files and of `docs/results/data/NAME.json`.
        summary: one line.
        data: the option that names its data: `images`, `recording`, `shapes`, or an empty string for none.
        quick: defaults of a quick run.
        add_arguments: its options.
        sweep: options to the experiment and its configurations.
        tables: results to tables, which are printed.
        draw: results and a folder to the files written there.
        needs: which data the paper has, in words.
        time: how long the whole of it takes, in words.
        reads: another study whose result files this one can be drawn from.
        covers: the rows and protocols that run without options, for studies of rows.
        data_by_part: whether each part of it has data of its own, so that `sweep` says what is missing.
    """

    name: str
    summary: str
    data: str
    quick: Mapping[str, Any]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    sweep: Callable[[argparse.Namespace], tuple[Experiment, Sequence[Any]]]
    tables: Callable[[Sequence[RunResult]], Sequence[Table]]
    draw: Callable[[Sequence[RunResult], Path], list[Path]]
    needs: str = ""
    time: str = ""
    reads: str = ""
    covers: tuple[tuple[str, str], ...] = ()
    data_by_part: bool = False


def study_of(module: ModuleType) -> Study:
    """The module's `STUDY`, or one made of its functions `add_arguments`, `sweep`, `table` and `draw`.

    A module with several tables has `tables` in place of `table`.
    """
    found = getattr(module, "STUDY", None)
    if isinstance(found, Study):
        return found

    def tables(results: Sequence[RunResult]) -> Sequence[Table]:
        several = getattr(module, "tables", None)
        return [module.table(results)] if several is None else several(results)

    return Study(
        module.NAME,
        (module.__doc__ or "").splitlines()[0],
        module.DATA,
        module.QUICK,
        module.add_arguments,
        module.sweep,
        tables,
        module.draw,
        getattr(module, "NEEDS", ""),
        getattr(module, "TIME", ""),
    )
