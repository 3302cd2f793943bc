"""Result files: JSON that says everything about one run, with its arrays beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from staf._files import atomic_write
from staf._jsonable import jsonable

FORMAT = 1


@dataclass(frozen=True)
class RunResult:
    """One run, read from its file; `document` is everything the file says."""

    path: Path
    document: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        return bool(self.document["status"] == "failed")

    @property
    def message(self) -> str:
        """Why a failed run failed."""
        return str(self.document.get("message", ""))

    @property
    def summary(self) -> str:
        """The message on one line of bounded length; the messages of compilers, for example, are long."""
        line = " ".join(self.message.split())
        return line if len(line) <= 200 else line[:197] + "..."

    @property
    def key(self) -> str:
        return str(self.document["key"])

    @property
    def configuration(self) -> Mapping[str, Any]:
        return self.document["configuration"]  # type: ignore[no-any-return]

    @property
    def data_name(self) -> str:
        return str(self.document["data"]["name"])

    @property
    def metrics(self) -> dict[str, float]:
        """Measures of the final weights."""
        return {name: float(value) for name, value in self.document["metrics"].items()}

    @property
    def history(self) -> dict[str, list[float]]:
        return {name: [float(v) for v in column] for name, column in self.document["history"].items()}

    @property
    def details(self) -> Mapping[str, Any]:
        return self.document["details"]  # type: ignore[no-any-return]

    def arrays(self) -> dict[str, np.ndarray]:
        """The run's own arrays and those it shares with others."""
        found: dict[str, np.ndarray] = {}
        for name in self.document["arrays"]:
            with np.load(self.path.parent / name, allow_pickle=False) as file:
                found.update({entry: file[entry] for entry in file.files})
        return found


def write_result(path: Path, document: Mapping[str, Any]) -> RunResult:
    """Write a result whole or not at all."""
    text = json.dumps(jsonable({"format": FORMAT, **document}), indent=1, allow_nan=False, ensure_ascii=False)
    atomic_write(path, text + "\n")
    return read_result(path)


def read_result(path: Path) -> RunResult:
    """Read one result file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document["format"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a result file") from None
    if version != FORMAT:
        raise ValueError(f"{path} has result format {version}, and this staf reads {FORMAT}")
    return RunResult(path, document)


def load_results(folder: str | Path, experiment: str | None = None, *, failed: bool = False) -> list[RunResult]:
    """The finished results of a folder, by file name; `experiment` keeps one experiment's, `failed` the failed too."""
    results = [read_result(path) for path in sorted(Path(folder).glob("*.json"))]
    return [
        result
        for result in results
        if (experiment is None or result.document["experiment"] == experiment) and (failed or not result.failed)
    ]
