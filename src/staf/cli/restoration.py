"""What `upscale` and `denoise` share: options, the fit of a task, and the folder it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import Stopped, UserError
from staf.cli.options import MODEL_NAMES, BudgetOptions, Count, Device, Flag, OutFolder, device_name
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from torch import Tensor

    from staf.api import Fit
    from staf.fitting import Plan

MODEL, METRICS, FIGURE = "model.safetensors", "metrics.json", "comparison.png"


@dataclass(frozen=True, kw_only=True)
class RestorationOptions(BudgetOptions):
    """How an image is restored and where it goes."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The image: PNG, JPEG, TIFF, WebP or NPY."""
    model: Annotated[str, arg(metavar="NAME", help=f"The network: {', '.join(MODEL_NAMES)}.")] = "staf"
    paper: Flag = False
    """The paper's network and schedule instead of ours; STAF only."""
    seed: Count = None
    """Same seed, same machine, same bits (0 if not given)."""
    device: Device = None
    """cpu, cuda or cuda:N; by default a GPU if there is one."""
    out: OutFolder = None
    """Folder for what is made."""
    overwrite: Flag = False
    """Replace what an earlier run has left in the folder."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""
    explain: Flag = False
    """Say what the plan chose, and why."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr, which is the default, or not."""


def open_image(options: RestorationOptions) -> Any:
    """The image; anything else is refused."""
    from staf.signals import open as open_signal

    image = open_signal(options.file)
    if image.kind != "image":
        raise UserError(f"images are restored, and {options.file} is of kind {image.kind}")
    if options.paper and options.model != "staf":
        raise UserError(f"--paper is the paper's STAF, got --model {options.model}")
    return image


def folder_for(options: RestorationOptions, name: str, image: Any, files: Sequence[str]) -> Path:
    """The output folder, ready to be written."""
    folder = options.out or Path("runs") / f"{image.name}-{name}"
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    found = [file for file in files if (folder / file).exists()]
    if found and not options.overwrite:
        raise UserError(f"{folder} already holds {found[0]}: pass --overwrite to replace it, or another --out")
    prepare_folder(folder, 8 * MEBIBYTE + 64 * image.array.nbytes)
    return folder


def fit_task(options: RestorationOptions, terminal: Terminal, task: Any, plan: Plan, callbacks: Sequence[Any]) -> Fit:
    """Fit a task by a plan; an interrupted restoration leaves nothing behind."""
    from staf.api import fit
    from staf.fitting import Interrupted

    budget = options.budget()
    if options.explain:
        terminal.explain(f"{options.file} on {device_name(options.device)}:", plan.reasons)
    try:
        return fit(
            task,
            plan=plan,
            steps=budget.steps,
            seconds=budget.seconds,
            target_db=budget.target_db,
            seed=options.seed or 0,
            device=device_name(options.device),
            progress=None if options.progress else False,
            callbacks=callbacks,
        )
    except Interrupted as stop:
        if stop.checkpoint is not None:
            stop.checkpoint.unlink(missing_ok=True)
        sooner = "with --steps or --seconds it ends sooner, and leaves a picture"
        raise Stopped(f"stopped after step {stop.step}; nothing is kept: {sooner}", stop.signal_number) from None


def as_picture(task: Any, restored: Tensor) -> Any:
    """Fitted numbers (n, c) as an image of the task's kind."""
    return task.signal.from_values(task.transform.values(restored.float()))


def write(folder: Path, fit: Fit, pictures: Mapping[str, Any], document: dict[str, Any]) -> dict[str, str]:
    """The model first, then pictures by file name, then metrics.json; where each is."""
    import json

    from staf._files import atomic_write
    from staf.experiments.plain import plain

    files = {"model": folder / MODEL}
    fit.save(files["model"])
    for name, image in pictures.items():
        files[Path(name).stem] = folder / name
        image.save(folder / name)
    files["metrics"] = folder / METRICS
    atomic_write(files["metrics"], json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return {name: str(path) for name, path in files.items()}


def draw(folder: Path, task: Any, rows: Mapping[str, tuple[dict[str, float], Tensor]]) -> str:
    """comparison.png: the truth, the observation, and every method with its dB."""
    from staf._files import atomic_path
    from staf.figures.restoration import restoration_comparison

    height, width = task.truth.shape

    def picture(values: Tensor) -> Any:
        return values.cpu().reshape(height, width, -1).numpy()

    truth = picture(task.transform.fitted(task.truth.values()))
    observed = task.observation.cpu().movedim(0, -1).numpy()
    titles = {f"{name}  {measures['psnr']:.2f} dB": picture(values) for name, (measures, values) in rows.items()}
    with atomic_path(folder / FIGURE) as temporary:
        restoration_comparison(truth, observed, titles).savefig(temporary, dpi=110)
    return str(folder / FIGURE)
