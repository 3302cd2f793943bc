"""`staf fit-many DIR`: a network for each signal of a folder, trained together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.kinds import is_url
from staf.cli.many_options import INDEX, ManyOptions, kept_when_stopped
from staf.cli.options import MODEL_NAMES, BudgetOptions, Flag
from staf.cli.outputs import MEBIBYTE, default_folder, prepare_folder
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.planning import Plan


# Measures after the PSNR that have a column of their own where a fit has them.
COLUMNS = {"ssim": "SSIM", "iou": "IoU", "log_spectral_distance": "log-spectral distance"}
# A longer table is left to `staf.FieldSet`.
LONGEST_TABLE = 200


@dataclass(frozen=True, kw_only=True)
class FitMany(ManyOptions, BudgetOptions):
    """Fit one network to each signal in a folder, many at once.

    The folder (runs/NAME-many unless --out names another) gets index.json and fields/NAME.safetensors for each finished
    signal. A file that cannot be read is reported, and the others are fitted. Ctrl-C keeps finished fits; --resume
    continues with the others. --seconds is the time of each group of networks that train together. For thousands of
    signals, --shards writes many networks in each file, to a folder or a URL, and --cluster trains on the machines of a
    Ray cluster.
    """

    folder: Annotated[Positional[str], arg(metavar="DIR")]
    """A folder or a URL with the signals, which are fitted in the order of their names."""
    model: Annotated[str, arg(metavar="NAME", help=f"The network: {', '.join(MODEL_NAMES)}.")] = "staf"
    explain: Flag = False
    """Print the choices of the plans and their reasons."""
    shards: Flag = False
    """Write many networks in each file, with one index; implied by --cluster and by a URL as --out."""
    cluster: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Train on a Ray cluster: local starts one on this machine, auto uses a running one, HOST:PORT names one."""

    @property
    def into_shards(self) -> bool:
        return self.shards or self.cluster is not None or self._is_url

    @property
    def _is_url(self) -> bool:
        return is_url(self.out or "")

    def place(self) -> str:
        """Where the fits go."""
        name = self.folder.rstrip("/").rpartition("/")[2] if is_url(self.folder) else Path(self.folder).resolve().name
        return self.out or str(default_folder(name, "many"))

    def checked(self, files: int) -> Document:
        """The arguments of `staf.fit_many`, after all that can be checked before the work."""
        if not self.into_shards:
            arguments = self.arguments(Path(self.place()))
            prepare_folder(Path(self.place()), MEBIBYTE * files)
            return arguments
        for flag, value in (("--seconds", self.seconds), ("--target-db", self.target_db)):
            if value is not None:
                raise UserError(f"--shards needs the same steps for every network: give --steps, not {flag}")
        if self.cluster is not None and self.explain:
            raise UserError("--explain is for one process: leave it out with --cluster")
        here = Path(self.place())
        # A URL is looked at when it is opened.
        arguments = self.arguments(Path("unused") if self._is_url else here)
        if not self._is_url:
            prepare_folder(here, MEBIBYTE * files)
        device = arguments["device"] if self.device is not None or self.cluster is None else None
        return {**arguments, "out": self.place(), "device": device, "shards": True, "cluster": self.cluster}


def options_for(words: Sequence[str]) -> type[Any]:
    return FitMany


def run(options: FitMany, terminal: Terminal) -> int:
    """Fit all, list them, name what failed."""
    files = _files(options.folder)
    budget = options.budget()
    from staf.many.fitting import fit_many
    from staf.nn.networks import network_named

    with edge():
        network_named(options.model)
    out = options.place()
    arguments = options.checked(len(files))

    def explain(plan: Plan, names: list[str]) -> None:
        terminal.explain(f"{', '.join(names)} on {arguments['device']}:", plan.reasons.values())

    with kept_when_stopped(terminal), _answering():
        outcome = fit_many(
            files,
            model=options.model,
            steps=budget.steps,
            seconds=budget.seconds,
            target_db=budget.target_db,
            on_plan=explain if options.explain else None,
            **arguments,
        )
    shown = [name for name in COLUMNS if any(name in measures for measures in outcome.metrics.values())]
    rows = [(name, *_measures(measures, shown)) for name, measures in sorted(outcome.metrics.items())]
    if len(rows) <= LONGEST_TABLE:
        terminal.table(f"{len(rows)} fits in {out}", ("name", "PSNR", *(COLUMNS[name] for name in shown)), rows)
    else:
        terminal.say(f"{len(rows)} fits in {out}")
    if rows:
        terminal.say(f"mean PSNR {outcome.mean_psnr:.2f} dB")
    for name, message in outcome.failures.items():
        terminal.note(f"{name} failed: {message}")
    terminal.finish(
        {
            "verb": "fit-many",
            "folder": str(options.folder),
            "model": options.model,
            "out": out,
            "index": None if options.into_shards else str(Path(out) / INDEX),
            "fits": {
                name: {"file": str(outcome.files[name]) if name in outcome.files else None, "metrics": measures}
                for name, measures in outcome.metrics.items()
            },
            "mean_psnr": outcome.mean_psnr,
            "failed": outcome.failures,
        }
    )
    return 1 if outcome.failures else 0


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """A cluster that does not answer is the user's to start, and a set that is there the user's to resume."""
    try:
        yield
    except (ConnectionError, FileExistsError) as error:
        raise UserError(str(error)) from error


def _files(folder: str) -> list[str]:
    """The files of a folder or behind a URL, in the order of their names."""
    from staf.storage.sets.place import Place

    place = Place(folder)
    here = place.path()
    if here is not None and not here.is_dir():
        raise UserError(f"{folder} is not a folder: name one that holds signals, or fit a single file with staf fit")
    files = [f"{place}/{name}" for name in place.names("")]
    if not files:
        raise UserError(f"{folder} holds no files" + ("" if here else ", or there is no such folder"))
    return files


def _measures(measures: dict[str, float], shown: Sequence[str]) -> list[str]:
    others = (f"{measures[name]:.4f}" if name in measures else "-" for name in shown)
    return [f"{measures['psnr']:.2f}", *others]
