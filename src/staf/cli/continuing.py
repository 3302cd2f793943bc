"""`staf fit --continue RUN`: train the field of a finished run further, by its own recipe over further steps."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from staf.cli.errors import UserError
from staf.cli.kinds import DEFAULT, kind_of
from staf.cli.parsing import parse
from staf.kinds.options import FitKind
from staf.kinds.registry import kinds

if TYPE_CHECKING:
    from staf._documents import Document
    from staf.api import Fit, FittedField
    from staf.planning import Budget, Plan
    from staf.signals.base import Signal
    from staf.training import History

MODEL, CONFIG, HISTORY = "model.safetensors", "config.json", "history.csv"
FLAG = "--continue"
# The rates of the run, times this: its weights are good already, and a full rate would undo them first.
RATE = 0.25


@dataclass(frozen=True)
class Earlier:
    """A finished run: its folder, its field and what its config.json says."""

    folder: Path
    field: FittedField
    config: Document

    @property
    def steps(self) -> int:
        return int(self.field.metadata.get("steps") or 0)

    def source(self) -> Path:
        """The file that was fitted, if it is still there."""
        source = self.config["signal"].get("source")
        if not isinstance(source, str) or not Path(source).exists():
            raise UserError(f"{self.folder} does not say where its signal is: staf fit FILE {FLAG} {self.folder}")
        return Path(source)

    def signal_options(self, file: Path) -> Document:
        """The options that `file` was opened with, by name; runs of earlier versions do not have them."""
        about, kind = self.config.get("reproduce"), kinds().get(kind_of([str(file)], _kind(self.config["signal"])))
        words = about.get("signal_options") if isinstance(about, dict) else None
        if kind is None or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return {}
        if {"-h", "--help"} & set(words):
            raise UserError(f"{self.folder / CONFIG} asks for help in its signal_options: it is damaged")
        try:
            given = parse(kind.option("Fit", FitKind), words, "staf fit")
        except UserError as error:
            raise UserError(f"signal_options of {self.folder / CONFIG}: {error}") from None
        return {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}

    def out(self, steps: int | None) -> Path:
        """The folder of the continued run, named after all the steps that its field has had."""
        name = re.sub(r"-\d+-steps$", "", self.folder.resolve().name)
        return self.folder.parent / (f"{name}-continued" if steps is None else f"{name}-{self.steps + steps}-steps")

    def check(self, signal: Signal) -> None:
        """Refuse another signal than the run's."""
        now, then = json.loads(json.dumps(signal.metadata())), self.config["signal"]
        if any(now[name] != then.get(name) for name in now if name not in ("name", "notes", "profile")):
            raise UserError(
                f"{self.folder} is a fit of another signal than {signal.name}, or of other samples of it: give the "
                "file and the options that it was made with"
            )

    def plan(self, plan: Plan, budget: Budget) -> Plan:
        """The plan of the run, limited by the new budget, at a lower rate."""
        recipe = plan.recipe.limited(steps=budget.steps, seconds=budget.seconds, target_db=budget.target_db)
        recipe = recipe.replace(
            rate=recipe.rate * RATE, matrix_rate=None if recipe.matrix_rate is None else recipe.matrix_rate * RATE
        )
        asked = [FLAG, str(self.folder)]
        for flag in ("steps", "seconds", "target_db"):
            value = getattr(budget, flag)
            if value is not None:
                asked += [f"--{flag.replace('_', '-')}", f"+{value:g}" if flag == "steps" else f"{value:g}"]
        reasons = {
            "network": f"the network of {self.folder}, after its {self.steps:,} steps",
            "rate": f"the recipe of that run at {RATE:g} of its rates, so that little of what it learnt is lost",
        }
        return dataclasses.replace(plan, recipe=recipe, reasons=reasons, name="continued", asked=tuple(asked))

    def extend(self, fit: Fit) -> None:
        """Put the steps and seconds of the run before those of the fit that continued it."""
        before, result = self.history(), fit.result
        began = before.seconds[-1] if before.seconds else 0.0
        for step, loss, multiplier, seconds in zip(*result.history.to_plain().values(), strict=True):
            before.append(self.steps + step, loss, multiplier, began + seconds)
        result.history, result.steps, result.seconds = before, self.steps + result.steps, began + result.seconds
        fit.field.metadata["steps"] = result.steps

    def history(self) -> History:
        """The run's history.csv; empty where it is missing or something else."""
        from staf.training import History

        history = History()
        try:
            with open(self.folder / HISTORY, encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    loss, multiplier, seconds = (float(row[name]) for name in ("loss", "multiplier", "seconds"))
                    if not math.isfinite(seconds):
                        raise ValueError
                    history.append(int(row["step"]), loss, multiplier, seconds)
        except (OSError, ValueError, KeyError, TypeError, csv.Error):
            return History()
        return history


def earlier(folder: Path) -> Earlier:
    """The finished run in a folder."""
    from staf.api import load
    from staf.cli.overrides import read_config

    if not (folder / MODEL).is_file():
        raise UserError(f"{FLAG} takes the folder of a finished run, and {folder} has no {MODEL}")
    config = read_config(folder / CONFIG)
    if not isinstance(config.get("signal"), dict):
        raise UserError(f"{folder / CONFIG} names no signal: {FLAG} takes a run of staf fit")
    return Earlier(folder, load(folder / MODEL), config)


def kind_continued(words: Sequence[str], default: str) -> str:
    """The kind of file of the run that `--continue` names among the arguments; `default` if there is none.

    >>> kind_continued(["a.png"], "image")
    'image'
    """
    from staf.cli.overrides import read_config

    for word, following in itertools.pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if name == FLAG:
            with contextlib.suppress(UserError):
                signal = read_config(Path(value if equals else following) / CONFIG).get("signal")
                if isinstance(signal, dict):
                    return kind_of([str(signal.get("source"))], _kind(signal))
    return default


def _kind(signal: Document) -> str:
    """The kind of the signal that was fitted, which is not that of its file where a mesh was fitted as a distance."""
    return str(signal.get("kind", DEFAULT))
