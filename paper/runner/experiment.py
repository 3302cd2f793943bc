"""What an experiment is: configurations, the data behind them, and a function that runs one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from paper.measures.run_costs import forget_peak, inference_seconds, peak_memory
from staf._files import atomic_path
from staf.comparison.networks import fit_or_resume
from staf.comparison.result_file import thin

if TYPE_CHECKING:
    from staf.api import Fit


@dataclass(frozen=True)
class Data:
    """What a configuration ran on: a name for people, and the hash of the contents wherever the file is."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Outcome:
    """What one run gives back.

    `metrics` are of the final weights. `history` has columns of equal length. `details` is any other JSON data.
    `arrays` go into an .npz beside the result, and `shared` names files made by `Context.share`.
    """

    metrics: Mapping[str, float]
    history: Mapping[str, list[Any]] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """Where a run happens: its device, its folder, and the stem of its files."""

    folder: Path
    stem: str
    device: str

    @property
    def checkpoint(self) -> Path:
        """Where an unfinished fit is kept, so that an interrupted sweep resumes in the middle of it."""
        return self.folder / f"{self.stem}.checkpoint.safetensors"

    def fit(self, source: Any, **arguments: Any) -> Fit:
        """`staf.fit` on this run's device, resumed from this run's checkpoint if there is one."""
        forget_peak(self.device)
        return fit_or_resume(source, self.checkpoint, device=self.device, progress=False, **arguments)

    def share(self, name: str, arrays: Mapping[str, np.ndarray]) -> str:
        """Write arrays that several results use, once; put the returned name into `Outcome.shared`."""
        path = self.folder / f"{name}.npz"
        if not path.exists():
            write_arrays(path, arrays)
        return path.name


class Experiment(Protocol):
    """A family of runs. Experiments are sent to other processes, so they and their configurations must pickle.

    `version` is part of every result's key: raise it when a change of code changes the numbers. `protocol` says in a
    sentence what the numbers mean.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def protocol(self) -> str: ...

    def label(self, configuration: Any) -> str:
        """A short readable name, used in file names and progress."""
        ...

    def data(self, configuration: Any) -> Data:
        """The data that the configuration runs on."""
        ...

    def run(self, configuration: Any, context: Context) -> Outcome: ...


def outcome_of(fit: Fit, *, points: int | None = None, **extra: Any) -> Outcome:
    """The outcome of one fit: its measures, thinned history, and how it went.

    With `points`, a pass over so many of them is timed, and the operations of one are counted. `extra` are other fields
    of `Outcome`.
    """
    costs: dict[str, Any] = {}
    if points is not None:
        from paper.measures.operations import operations_of

        costs = {"inference_seconds": inference_seconds(fit.module, points), "operations": operations_of(fit.module)}
    details = {
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 4),
        "memory": peak_memory(fit.device),
        **costs,
        "stopped": fit.stopped,
        "parameters": sum(p.numel() for p in fit.module.parameters()),
        "recipe": fit.recipe.to_plain(),
        "notes": list(fit.notes),
        **extra.pop("details", {}),
    }
    return Outcome(metrics=dict(fit.metrics), history=thin(fit.history.to_plain()), details=details, **extra)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A compressed .npz, whole or not at all."""
    plain_arrays: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, **plain_arrays)
