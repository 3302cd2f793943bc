"""`staf compare FILE --models A B C`: the same budget for each network, a table sorted by dB, and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import Stopped, UserError, edge
from staf.cli.options import MODEL_NAMES, FitOptions
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.experiments import Result, Sweep

RESULTS, FIGURE, TABLE = "results", "comparison.png", "comparison.md"


@dataclass(frozen=True, kw_only=True)
class Compare(FitOptions):
    """Fit several networks to an image with the same budget, and see who ends where.

    The folder (runs/NAME-compare unless --out names another) gets comparison.png, comparison.md and results/ with a
    file for each network. Ctrl-C keeps what is finished, and --resume goes on with the rest.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The image: PNG, JPEG, TIFF, WebP or NPY."""
    models: Annotated[tuple[str, ...], arg(metavar="NAME...", help=f"Among {', '.join(MODEL_NAMES)}.")] = (
        "staf",
        "siren",
        "finer",
    )


def options_for(words: Sequence[str]) -> type[Any]:
    return Compare


def run(options: Compare, terminal: Terminal) -> int:
    """Fit each, draw, and print the table."""
    from staf.experiments import image_comparison, run_experiment
    from staf.kinds import open as open_signal
    from staf.planning import plan

    image = open_signal(options.file)
    if image.kind != "image":
        raise UserError(f"compare draws images, and {options.file} is of kind {image.kind}")
    device, budget = options.device_name(), options.budget()
    models = list(dict.fromkeys(options.models))
    if not models:
        raise UserError("--models must name at least one network, got none")
    with edge():
        plans = {model: plan(image, budget, device=device.split(":")[0], model=model) for model in models}
    if options.explain:
        for model, chosen in plans.items():
            terminal.explain(f"{model} on {device}:", chosen.reasons)
    folder = options.out or Path("runs") / f"{image.name}-compare"
    _prepare(options, folder, 8 * MEBIBYTE * len(models) + 4 * image.array.nbytes)
    runs = image_comparison.configurations(
        [image.name],
        models,
        [options.seed or 0],
        steps=options.steps,
        seconds=options.seconds,
        target_db=options.target_db,
    )
    experiment = image_comparison.ImageComparison({image.name: str(options.file)}, keep_fields=True)
    try:
        # One after another, so that each has the whole machine.
        sweep = run_experiment(
            experiment, runs, folder / RESULTS, workers=1, device=device, progress=options.progress, watch=True
        )
    except KeyboardInterrupt as stop:
        raise _stopped(stop, terminal) from None
    _tell(options, terminal, folder, sweep)
    return 1 if sweep.failures else 0


def _prepare(options: Compare, folder: Path, needed: int) -> None:
    results = folder / RESULTS
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    if options.resume and options.overwrite:
        raise UserError("--resume goes on with a comparison and --overwrite starts anew: give one of them")
    earlier = sorted(results.iterdir()) if results.is_dir() else []
    if options.resume and not earlier:
        raise UserError(f"there is no interrupted comparison in {folder}: leave --resume out")
    if earlier and not (options.resume or options.overwrite):
        raise UserError(
            f"{folder} already holds a comparison: --resume goes on with it, --overwrite starts anew, or another --out"
        )
    prepare_folder(folder, needed)
    if options.overwrite:
        for path in earlier:
            if path.suffix in (".json", ".npz", ".safetensors"):
                path.unlink()


def _stopped(stop: KeyboardInterrupt, terminal: Terminal) -> Stopped:
    message = f"stopped; what is finished is kept, and this goes on with the rest:\n{terminal.resume_command()}"
    return Stopped(message, getattr(stop, "signal_number", 2))


def _tell(options: Compare, terminal: Terminal, folder: Path, sweep: Sweep) -> None:
    from staf._files import atomic_write
    from staf.experiments.image_comparison import table

    best_first: list[Result] = []
    figure = None
    if sweep.results:
        drawn = table(sweep.results)
        ranks = [row[0] for row in drawn.rows]
        best_first = sorted(sweep.results, key=lambda result: ranks.index(result.configuration["model"]))
        terminal.table(drawn.title, drawn.columns, drawn.rows)
        atomic_write(folder / TABLE, drawn.to_markdown())
        figure = _draw(best_first, folder / FIGURE)
        terminal.say(f"figure: {figure}")
    for failure in sweep.failures:
        terminal.note(f"{failure.configuration['model']} failed: {failure.summary} ({failure.path})")
    terminal.finish(
        {
            "verb": "compare",
            "file": str(options.file),
            "out": str(folder),
            "figure": figure,
            "models": [_row(result, folder) for result in best_first],
            "failed": [{"model": f.configuration["model"], "message": f.message} for f in sweep.failures],
        }
    )


def _row(result: Result, folder: Path) -> dict[str, Any]:
    details = result.details
    return {
        "model": result.configuration["model"],
        "metrics": result.metrics,
        **{name: details[name] for name in ("parameters", "steps", "seconds", "stopped", "reasons", "notes")},
        "file": str(folder / RESULTS / details["field"]),
    }


def _draw(results: Sequence[Result], path: Path) -> Path:
    from staf.experiments.image_comparison import comparison_figure
    from staf.experiments.runner import draw

    return draw(path, lambda temporary: comparison_figure(results).savefig(temporary, dpi=150))
