"""The run folder of a fit. Each file is written completely or not at all, the model first."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from staf._documents import Document
from staf._files import atomic_write
from staf.reports.errors import RunError

if TYPE_CHECKING:
    from staf.api import Fit

MODEL, HISTORY, METRICS, CONFIG, VIEW, REPORT = (
    "model.safetensors",
    "history.csv",
    "metrics.json",
    "config.json",
    "view.html",
    "report.html",
)
RECONSTRUCTION = "reconstruction"
# Parameters of the largest network that a run folder holds as a page: 11 MB of text.
MOST_IN_VIEW = 4_000_000


@dataclass(frozen=True)
class RunPaths:
    """Where the parts of a run are.

    `reconstruction` is None for a fit of a task without a signal, `view` where no page can show the field.
    """

    folder: Path
    model: Path
    reconstruction: Path | None
    history: Path
    metrics: Path
    config: Path
    report: Path
    view: Path | None = None


def write_run(fit: Fit, folder: str | os.PathLike[str], *, overwrite: bool = False) -> RunPaths:
    """Write model.safetensors, the reconstruction, history.csv, metrics.json, config.json, view.html and report.html.

    The model is written first. If another file fails, the remaining files are still written, and a `RunError` names the
    written and the missing files. A folder that contains a run is an error unless `overwrite`; other files in it are
    not changed.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.eye(8, dtype=np.float32), field=staf.siren(2, 1, width=8, depth=1), steps=2, progress=False)
    >>> paths = write_run(fit, tempfile.mkdtemp())
    >>> sorted(path.stem for path in paths.folder.iterdir())
    ['config', 'history', 'metrics', 'model', 'reconstruction', 'report', 'view']
    """
    folder = Path(folder)
    check_folder(folder, overwrite=overwrite)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the folder {str(folder)!r}: {error.strerror or error}") from error
    paths = _paths(fit, folder)
    fit.save(paths.model)
    for stale in existing(folder):
        if stale != paths.model:
            with contextlib.suppress(OSError):
                stale.unlink()

    document: Document = {}
    failures: list[str] = []

    def attempt(path: Path, write: Callable[[], None]) -> bool:
        try:
            write()
        except (OSError, ValueError, RuntimeError, MemoryError) as error:
            failures.append(f"{path.name}: {error or type(error).__name__}")
            return False
        return True

    def measure() -> None:
        from staf.reports.measures import measures

        document.update(measures(fit, paths.reconstruction))
        atomic_write(paths.metrics, as_json(document))

    def configure() -> None:
        from staf.reports.configuration import configuration

        atomic_write(paths.config, as_json(configuration(fit)))

    def report() -> None:
        from staf.reports.page import report_html

        atomic_write(paths.report, report_html(fit, document, None if paths.view is None else VIEW))

    if paths.reconstruction is not None:
        target = paths.reconstruction
        attempt(target, lambda: fit.reconstruction.save(target))
    attempt(paths.history, lambda: atomic_write(paths.history, fit.history.to_csv()))
    attempt(paths.metrics, measure)
    attempt(paths.config, configure)
    paths = replace(paths, view=_write_view(fit, folder / VIEW, attempt))
    attempt(paths.report, report)
    if failures:
        raise RunError(f"the model is saved in {str(paths.model)!r}, but not {'; '.join(failures)}")
    return paths


def _write_view(fit: Fit, path: Path, attempt: Callable[[Path, Callable[[], None]], bool]) -> Path | None:
    """The page that shows the field; none for networks that no page can show or that would make it large, and where
    it cannot be written, so that the report does not link to it.
    """
    from staf.viewer import ExportError, page

    numbers = sum(parameter.numel() for parameter in fit.module.parameters())
    if numbers > MOST_IN_VIEW:
        return None
    try:
        text = page(fit.field, half=numbers > MOST_IN_VIEW // 8)
    except ExportError:
        return None
    return path if attempt(path, lambda: atomic_write(path, text)) else None


def existing(folder: str | os.PathLike[str]) -> list[Path]:
    """The files of a run that a folder already holds."""
    names = [MODEL, HISTORY, METRICS, CONFIG, VIEW, REPORT]
    found = [Path(folder) / name for name in names if (Path(folder) / name).exists()]
    # Whatever its suffix: a kind of signal chooses its own.
    return found + sorted(path for path in Path(folder).glob(f"{RECONSTRUCTION}.*") if path.is_file())


def check_folder(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise an error if a folder contains a run or cannot be used; call this before a long training.

    >>> check_folder("/no/such/folder/yet")
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise RunError(f"the output must be a folder, and {str(path)!r} is a file")
    found = existing(path)
    if found and not overwrite:
        raise RunError(f"{str(path)!r} already holds a run ({found[0].name}): choose another folder")


def as_json(document: Document) -> str:
    """Indented standard JSON: no NaN, no Infinity."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _paths(fit: Fit, folder: Path) -> RunPaths:
    reconstruction = None
    if fit.signal is not None:
        reconstruction = folder / (RECONSTRUCTION + fit.signal.view.suffix)
    return RunPaths(
        folder, folder / MODEL, reconstruction, folder / HISTORY, folder / METRICS, folder / CONFIG, folder / REPORT
    )
