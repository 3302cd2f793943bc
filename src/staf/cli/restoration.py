"""What `upscale` and `denoise` share: options, the fit of a task, and the folder it leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError
from staf.cli.options import MODEL_NAMES, FitOptions, Flag, check_counts
from staf.cli.outputs import MEBIBYTE, default_folder, prepare_folder
from staf.cli.resuming import CHECKPOINT, check_folder, interrupted, left_at_once, resumed
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from staf.api import Fit
    from staf.kinds import Image
    from staf.planning import Budget, Plan
    from staf.signals.base import Signal
    from staf.tasks import Denoising, InverseProblem, KeepBestHeldOut, Oracle
    from staf.tasks.choice import Choice
    from staf.training.state import Callback
    from staf.training.task import Predict

    Restoration = Denoising | InverseProblem

MODEL, METRICS, FIGURE, REPORT = "model.safetensors", "metrics.json", "comparison.png", "report.html"


@dataclass(frozen=True, kw_only=True)
class InverseOptions(FitOptions):
    """How a field is fitted to what is observed of something."""

    model: Annotated[str, arg(metavar="NAME", help=f"The network: {', '.join(MODEL_NAMES)}.")] = "staf"


@dataclass(frozen=True, kw_only=True)
class RestorationOptions(InverseOptions):
    """How an image is restored and where it goes."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The image: PNG, JPEG, TIFF, WebP or NPY."""
    paper: Flag = False
    """Use the paper's network and schedule instead of the default (STAF only)."""


@dataclass(frozen=True)
class Start:
    """Where a restoration goes, how many bytes it may need there, and the seed and budget it has."""

    folder: Path
    needed: int
    seed: int
    budget: Budget


def open_image(options: RestorationOptions) -> Image:
    """The image; anything else is refused."""
    from staf.kinds import Image
    from staf.kinds import open as open_signal

    image = open_signal(options.file)
    if not isinstance(image, Image):
        raise UserError(f"FILE must be an image, and {options.file} is of kind {image.kind}")
    if options.paper and options.model != "staf":
        raise UserError(f"--paper is the paper's STAF, got --model {options.model}")
    return image


def start_for(options: RestorationOptions, name: str, image: Image, files: Sequence[str]) -> Start:
    """The folder, checked, and the seed and budget: those that were given, or those of the interrupted fit."""
    return started(options, default_folder(image.name, name), 64 * image.array.nbytes, files)


def check_enlarged(image: Image, factor: int) -> None:
    """Refuse a factor that makes an image larger than those that are opened: it would not fit in memory."""
    from staf.kinds.opening import MAX_PIXELS

    check_counts(scale=factor)
    height, width = (size * factor for size in image.shape)
    if width * height > MAX_PIXELS:
        raise UserError(
            f"--scale {factor} makes {width:,} x {height:,} pixels of {image.width} x {image.height}, and at most "
            f"{MAX_PIXELS:,} are made at once: choose a smaller one"
        )


def check_held_out(share: float) -> None:
    """Refuse a share that leaves nothing to fit, or nothing to choose by."""
    if not 0 < share < 1:
        raise UserError(f"--held-out must lie between 0 and 1, got {share:g}")


def keep_best(task: Restoration) -> KeepBestHeldOut:
    """The callback that keeps the weights of the smallest error on what is held out, of which there must be some."""
    from staf.tasks import KeepBestHeldOut

    if not len(task.held_out_index):
        raise UserError(
            "there are too few observations to hold any of them out of the fit, by which the result is chosen: at "
            "least 2 are needed"
        )
    return KeepBestHeldOut(task, every=10)


def started(options: InverseOptions, default: Path, nbytes: int, files: Sequence[str]) -> Start:
    """The same for what takes about `nbytes` when it is written; `default` is the folder, unless one is given."""
    folder = options.out or default
    check_folder(options, folder, next((file for file in files if (folder / file).exists()), None))
    seed, budget = options.seed or 0, options.budget()
    if options.resume:
        seed, budget = resumed(options, options.model, folder / CHECKPOINT)
    return Start(folder, 8 * MEBIBYTE + nbytes, seed, budget)


def fit_task(
    options: InverseOptions,
    terminal: Terminal,
    start: Start,
    task: Restoration,
    plan: Plan,
    callbacks: Sequence[Callback],
) -> Fit:
    """Fit a task by a plan, or resume it; Ctrl-C ends the training and leaves a checkpoint in the folder."""
    from staf.api import fit
    from staf.training import Interrupted

    checkpoint = start.folder / CHECKPOINT
    if options.resume:
        _check_same(options, start, task, plan)
    if options.explain:
        terminal.explain(f"{task.signal!r} on {options.device_name()}:", plan.reasons.values())
    prepare_folder(start.folder, start.needed)
    if options.overwrite:
        checkpoint.unlink(missing_ok=True)
    try:
        return fit(
            task,
            plan=plan,
            steps=start.budget.steps,
            seconds=start.budget.seconds,
            target_db=start.budget.target_db,
            seed=start.seed,
            device=options.device_name(),
            progress=None if options.progress else False,
            callbacks=callbacks,
            checkpoint=checkpoint,
            resume=checkpoint if options.resume else None,
            keep_when_stopped=True,
        )
    except Interrupted as stop:
        raise interrupted(stop, checkpoint, terminal) from None
    except KeyboardInterrupt as stop:
        raise left_at_once(stop, checkpoint, terminal) from None


def _check_same(options: InverseOptions, start: Start, task: Restoration, plan: Plan) -> None:
    """Refuse to resume with another picture or network than the interrupted fit's, and name the options that choose."""
    from staf.storage import read_header
    from staf.training.checkpoint import fingerprint

    about = read_header(start.folder / CHECKPOINT).metadata
    same_data = about.get("fingerprint") == fingerprint(task)
    if same_data and about.get("architecture") == getattr(plan.field(start.seed), "architecture", None):
        return
    shared = {entry.name for entry in dataclasses.fields(InverseOptions)} | {"file", "paper"}
    own = [entry.name for entry in dataclasses.fields(options) if entry.name not in shared]
    own += ["paper"] if isinstance(options, RestorationOptions) else []
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in own)
    raise UserError(
        f"the interrupted fit is of another {'network' if same_data else 'picture, or of other options'}: give the "
        f"same file, and {flags} and --device as they were then"
    )


def as_picture(task: Restoration, fitted: Tensor) -> Signal:
    """Fitted numbers (n, c) as an image of the task's kind."""
    return task.signal.from_values(task.transform.values(fitted.float()))


def predicted_by(fit: Fit) -> Predict:
    """The final weights as a function of coordinates, in bounded memory."""
    from staf.training.prediction import predictor
    from staf.training.stepper import points_at_once

    return predictor(fit.module, points_at_once(next(fit.module.parameters()).device))


def write(folder: Path, fit: Fit, task: Restoration, name: str, choice: Choice) -> dict[str, str]:
    """The picture that is returned, by file name; where it and the model, which is there already, are."""
    picture = as_picture(task, choice.values)
    fit.return_instead(picture, choice.told())
    picture.save(folder / name)
    return {"model": str(folder / MODEL), Path(name).stem: str(folder / name)}


def outcome(fit: Fit, task: Restoration, choice: Choice) -> Document:
    """What every restoration's document says: measures of what is returned, which it is and why, and of the fit."""
    from staf.tasks.classical import measured

    metrics = dict(fit.metrics)
    if task.truth is not None:
        metrics = measured(task, choice.values)
    return {
        "metrics": metrics,
        "returned": choice.document(),
        "fit_metrics": dict(fit.metrics),
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 3),
        "notes": list(fit.notes),
    }


def tell_choice(terminal: Terminal, choice: Choice) -> None:
    terminal.say(choice.told())
    if not choice.fitted:
        terminal.say(f"{MODEL} contains the fit, which may become better with more steps or seconds")


def tell_oracle(terminal: Terminal, oracle: Oracle, addition: str = "") -> None:
    """The best step by the truth; nothing if the fit was stopped before the first one was measured."""
    if oracle.step:
        terminal.say(f"best step in hindsight (oracle): {oracle.psnr:.2f} dB at step {oracle.step}{addition}")


def tell_methods(
    terminal: Terminal, title: str, rows: Mapping[str, tuple[dict[str, float], Tensor]], choice: Choice
) -> None:
    """The table of all methods, the one that is returned marked."""
    table = []
    for method, (m, _) in rows.items():
        # Of volumes there is no SSIM.
        measures = [f"{m['psnr']:.2f}", f"{m['ssim']:.4f}"] if "ssim" in m else [f"{m['psnr']:.2f}"]
        table.append([f"{method} (returned)" if method == choice.method else method, *measures])
    terminal.table(title, ["method", "PSNR dB", "SSIM"][: len(table[0])], table)


def write_metrics(folder: Path, fit: Fit, document: Document) -> dict[str, str]:
    """metrics.json and report.html; where they are."""
    import json

    from staf._files import atomic_write
    from staf._jsonable import jsonable
    from staf.reports.page import report_html

    text = json.dumps(jsonable(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    atomic_write(folder / METRICS, text)
    atomic_write(folder / REPORT, report_html(fit, document["metrics"]))
    return {"metrics": str(folder / METRICS), "report": str(folder / REPORT)}


def draw(
    folder: Path,
    task: Restoration,
    rows: Mapping[str, tuple[dict[str, float], Tensor]],
    observation: Tensor | None = None,
) -> str:
    """comparison.png: the truth, the observation, and every method with its dB; of a volume its middle layer."""
    from staf._files import atomic_path
    from staf.figures.restoration import restoration_comparison

    assert task.truth is not None
    shape = task.truth.shape

    def picture(values: Tensor) -> np.ndarray:
        return middle(values.cpu().reshape(*shape, -1).numpy(), 2)

    truth = picture(task.transform.fitted(task.truth.values()))
    observed = middle((task.observation if observation is None else observation).cpu().movedim(0, -1).numpy(), 2)
    # A number and its unit stay on one line where a title is broken.
    titles = {
        f"{name}  {measures['psnr']:.2f}\N{NO-BREAK SPACE}dB": picture(values)
        for name, (measures, values) in rows.items()
    }
    with atomic_path(folder / FIGURE) as temporary:
        restoration_comparison(truth, observed, titles).savefig(temporary, dpi=110)
    return str(folder / FIGURE)


def middle(array: np.ndarray, axes: int) -> np.ndarray:
    """The last `axes` axes of an array whose last one has channels: the middle of all others.

    >>> import numpy as np
    >>> middle(np.arange(5)[:, None, None, None], 2).tolist()
    [[[2]]]
    """
    while array.ndim > axes + 1:
        array = array[len(array) // 2]
    return array
