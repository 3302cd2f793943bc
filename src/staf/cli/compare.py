"""`staf compare FILE --models A B C`: the same budget for each network, a table with the best first, and one figure."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import Stopped, UserError, edge
from staf.cli.kinds import kind_of, options_of
from staf.cli.options import MODEL_NAMES, Count, FitOptions
from staf.cli.outputs import MEBIBYTE, default_folder, prepare_folder
from staf.cli.terminal import Terminal
from staf.kinds.options import FitKind

if TYPE_CHECKING:
    from staf.comparison import Comparison, NetworkResult
    from staf.signals import Signal

RESULTS, FIGURE, TABLE = "results", "comparison.png", "comparison.md"


@dataclass(frozen=True, kw_only=True)
class CompareKind(FitKind):
    """Fit several networks to a signal with the same budget, and compare their quality.

    The folder (runs/NAME-compare unless --out names another) gets comparison.png, comparison.md and results/ with a
    file for each network. Ctrl-C keeps finished networks; --resume continues with the others.
    """


@dataclass(frozen=True, kw_only=True)
class CompareShared(FitOptions):
    """Options of `staf compare` for every kind of signal."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """An image, a video, a recording, a mesh, or the folder of a scene."""
    models: Annotated[tuple[str, ...], arg(metavar="NAME...", help=f"Among {', '.join(MODEL_NAMES)}.")] = (
        "staf",
        "siren",
        "finer",
    )
    resolution: Count = None
    """For a mesh: the number of voxels along its longest side."""


class Compare(CompareKind, CompareShared):
    """What `options_for` gives: the options of a kind and the shared ones."""


def options_for(words: Sequence[str]) -> type[CompareShared]:
    """The options for the kind of file that `words` name."""
    return options_of("Compare", kind_of(words), CompareKind, CompareShared)


def run(options: Compare, terminal: Terminal) -> int:
    """Fit each, draw, and print the table."""
    from staf.comparison import compare_networks
    from staf.planning import plan
    from staf.signals.view import View

    image = options.open(options.file)
    if image.view.picture() is None and type(image.view).comparison is View.comparison:
        raise UserError(
            f"compare draws images, videos, recordings, meshes and scenes, and {options.file} is of kind {image.kind}"
        )
    if options.resolution is not None:
        sampled = getattr(image, "sampled", None)
        if sampled is None:
            raise UserError(f"--resolution is for meshes, and {options.file} is of kind {image.kind}")
        with edge():
            image = sampled(options.resolution)
    device, budget = options.device_name(), options.budget()
    models = list(dict.fromkeys(options.models))
    if not models:
        raise UserError("--models must name at least one network, got none")
    with edge():
        plans = {model: plan(image, budget, device=device.split(":")[0], model=model) for model in models}
    if options.explain:
        for model, chosen in plans.items():
            terminal.explain(f"{model} on {device}:", chosen.reasons.values())
    folder = options.out or default_folder(image.name, "compare")
    _prepare(options, folder, 8 * MEBIBYTE * len(models) + 4 * image.nbytes)
    try:
        comparison = compare_networks(
            image, models, budget, folder / RESULTS, device=device, seed=options.seed or 0, progress=options.progress
        )
    except KeyboardInterrupt as stop:
        raise _stopped(stop, terminal, folder / RESULTS) from None
    _show(options, terminal, folder, image, comparison)
    return 1 if comparison.failures else 0


def _prepare(options: Compare, folder: Path, needed: int) -> None:
    results = folder / RESULTS
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    if options.resume and options.overwrite:
        raise UserError("--resume continues a comparison and --overwrite starts a new one: give one of them")
    earlier = _kept(results)
    if options.resume and not earlier:
        raise UserError(f"there is no interrupted comparison in {folder}: leave --resume out")
    if earlier and not (options.resume or options.overwrite):
        raise UserError(
            f"{folder} already holds a comparison: pass --resume to continue it, --overwrite to replace it, or name "
            "another folder with --out"
        )
    prepare_folder(folder, needed)
    if options.overwrite:
        for path in earlier:
            if path.suffix in (".json", ".npz", ".safetensors"):
                path.unlink()


def _kept(results: Path) -> list[Path]:
    """The files of networks that are done, and the checkpoint of one that is not."""
    return sorted(results.iterdir()) if results.is_dir() else []


def _stopped(stop: KeyboardInterrupt, terminal: Terminal, results: Path) -> Stopped:
    message = f"stopped; what was fitted so far is kept. To continue with the rest:\n{terminal.resume_command()}"
    if not _kept(results):
        message = "stopped before the first checkpoint: nothing was kept"
        with contextlib.suppress(OSError):
            results.rmdir()
    return Stopped(message, getattr(stop, "signal_number", 2))


def _show(options: Compare, terminal: Terminal, folder: Path, image: Signal, comparison: Comparison) -> None:
    from staf._files import atomic_write
    from staf.comparison import network_table, rates_in_words

    best_first: list[NetworkResult] = []
    figure = None
    if comparison.results:
        table = network_table(comparison.results, image.view.main_measure)
        ranks = [row[0] for row in table.rows]
        best_first = sorted(comparison.results, key=lambda result: ranks.index(result.model))
        terminal.table(table.title, table.columns, table.rows)
        rates = rates_in_words({result.model: result.reasons for result in best_first})
        for line in rates:
            terminal.say(line)
        atomic_write(folder / TABLE, table.to_markdown() + "".join(f"\n- {line}" for line in rates) + "\n")
        figure = _draw(image, best_first, folder / FIGURE)
        terminal.say(f"figure: {figure}" if figure else "no figure: no network has a surface yet")
    for failure in comparison.failures:
        terminal.note(f"{failure.model} failed: {failure.summary} ({failure.path})")
    terminal.finish(
        {
            "verb": "compare",
            "file": str(options.file),
            "out": str(folder),
            "figure": figure,
            "models": [_row(result) for result in best_first],
            "failed": [{"model": failure.model, "message": failure.message} for failure in comparison.failures],
        }
    )


def _row(result: NetworkResult) -> Document:
    names = ("model", "metrics", "parameters", "steps", "seconds", "stopped", "reasons", "notes")
    return {**{name: getattr(result, name) for name in names}, "file": str(result.field_path)}


def _draw(image: Signal, results: Sequence[NetworkResult], path: Path) -> Path | None:
    from staf._files import atomic_path
    from staf.comparison import comparison_figure

    figure = comparison_figure(image, results)
    if figure is None:
        return None
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
    return path
