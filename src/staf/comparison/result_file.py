"""The result files of a comparison: one network's measures, with its reconstruction and its field beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._documents import Entries
from staf._files import atomic_path, atomic_write
from staf._jsonable import jsonable
from staf.comparison.table import NetworkRow

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.planning import Plan

FORMAT = 2
HISTORY_ROWS = 200


@dataclass(frozen=True)
class NetworkResult(NetworkRow):
    """One finished network, read from its result file `path`."""

    path: Path
    stopped: str
    reasons: Sequence[str]
    notes: Sequence[str]
    history: dict[str, list[float]]

    @property
    def field_path(self) -> Path:
        """The file of the fitted field."""
        return self.path.with_name(f"{self.path.stem}.safetensors")

    def reconstruction(self) -> np.ndarray:
        """The reconstruction (h, w, c) in the image's own samples; of a scene, its first view."""
        with np.load(_arrays(self.path), allow_pickle=False) as file:
            return np.asarray(file["reconstruction"])


@dataclass(frozen=True)
class NetworkFailure:
    """One network whose fit raised an error, read from its result file `path`."""

    path: Path
    model: str
    message: str

    @property
    def summary(self) -> str:
        """The message on one line of bounded length; the messages of compilers, for example, are long."""
        line = " ".join(self.message.split())
        return line if len(line) <= 200 else line[:197] + "..."


def write_result(path: Path, about: Entries, fit: Fit, plan: Plan) -> None:
    """Write the field, the reconstruction and, last, the result file of a fit; `about` says what was run and where."""
    fit.save(path.with_name(f"{path.stem}.safetensors"))
    view = fit.signal.view
    if view.picture() is not None:
        with atomic_path(_arrays(path)) as temporary:
            np.savez_compressed(temporary, reconstruction=view.picture(fit.reconstruction))
    outcome = {
        "status": "done",
        "metrics": {**fit.metrics, **_perceptual(fit)},
        "parameters": sum(p.numel() for p in fit.module.parameters()),
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 4),
        "stopped": fit.stopped,
        "reasons": list(plan.reasons.values()),
        "notes": list(fit.notes),
        "recipe": fit.recipe.to_plain(),
        "history": thin(fit.history.to_plain()),
    }
    _write(path, {**about, **outcome})


def _perceptual(fit: Fit) -> dict[str, float]:
    """LPIPS of pictures, if its weights are installed and they support their size and channels."""
    measures = fit.signal.view.more_measures(fit.field.predict, fit.field.convention, None)
    try:
        return {"lpips": measures["lpips"]()} if "lpips" in measures else {}
    except (FileNotFoundError, ValueError):
        return {}


def write_failure(path: Path, about: Entries, message: str, trace: str) -> None:
    """Write a result file that says why there is no result."""
    _write(path, {**about, "status": "failed", "message": message, "trace": trace})


def read_result(path: Path) -> NetworkResult | NetworkFailure:
    """Read one result file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document["format"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a result file of a comparison") from None
    if version != FORMAT:
        raise ValueError(f"{path} has result format {version}, and this staf reads format {FORMAT}")
    if document["status"] == "failed":
        return NetworkFailure(path, document["model"], document["message"])
    return NetworkResult(
        **{name: document[name] for name in ("image", "model", "parameters", "steps", "seconds")},
        metrics={name: float(value) for name, value in document["metrics"].items()},
        path=path,
        **{name: document[name] for name in ("stopped", "reasons", "notes")},
        history={name: [float(value) for value in column] for name, column in document["history"].items()},
    )


def thin(history: Mapping[str, list[Any]], rows: int = HISTORY_ROWS) -> dict[str, list[Any]]:
    """At most `rows` rows, evenly spread, the first and the last among them.

    >>> thin({"step": list(range(10))}, rows=4)
    {'step': [0, 3, 6, 9]}
    """
    length = len(next(iter(history.values()), []))
    if length <= rows:
        return {name: list(column) for name, column in history.items()}
    kept = np.linspace(0, length - 1, rows).round().astype(int)
    return {name: [column[i] for i in kept] for name, column in history.items()}


def array_hash(array: np.ndarray) -> str:
    """SHA-256 of an array's shape, type and samples.

    >>> array_hash(np.zeros(3, np.uint8)) == array_hash(np.zeros((3, 1), np.uint8))
    False
    """
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    digest = hashlib.sha256(f"{array.shape} {little.dtype.name}".encode())
    digest.update(little.data if little.size else b"")
    return digest.hexdigest()


def _write(path: Path, document: Entries) -> None:
    text = json.dumps(jsonable({"format": FORMAT, **document}), indent=1, allow_nan=False, ensure_ascii=False)
    atomic_write(path, text + "\n")


def _arrays(path: Path) -> Path:
    return path.with_name(f"{path.stem}.npz")
