"""`staf fit FILE`: fit a field, and leave a folder with the model, the reconstruction and a report."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any

from staf.cli.errors import Stopped, UserError, edge
from staf.cli.fit_options import FitAudio, FitImage, FitShape, FitSignal
from staf.cli.kinds import kind_of
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.fitting import Budget, Plan

CHECKPOINT = "checkpoint.safetensors"
MEASURES = {
    "ssim": "SSIM {:.4g}",
    "lpips": "LPIPS {:.4g}",
    "iou": "IoU {:.4f}",
    "chamfer": "Chamfer {:.3g}",
    "normal_consistency": "normal consistency {:.4f}",
    "log_spectral_distance": "log-spectral distance {:.2f} dB",
}
# From here on, measuring and writing take longer on a CPU than one waits without being told.
MANY_PIXELS = 2**21


# Options by kind of signal; a kind that is not here is parsed as an image and refused when it is opened.
OPTIONS: dict[str, type[FitSignal]] = {"image": FitImage, "audio": FitAudio, "shape": FitShape}


def options_for(words: Sequence[str]) -> type[Any]:
    """The options for the kind of file that `words` name."""
    return OPTIONS.get(kind_of(words), FitImage)


def run(options: FitSignal, terminal: Terminal) -> int:
    """Fit, write the run folder, say how good it is."""
    from staf.fitting import plan as make_plan

    signal = _open(options)
    device = options.device_name()
    folder = options.out or Path("runs") / f"{signal.name}-{options.model}"
    checkpoint = folder / CHECKPOINT
    seed, budget = options.seed or 0, options.budget()
    with edge():
        make_plan(signal, budget, device=device.split(":")[0], model=options.model)
    _check_folder(options, folder, checkpoint)
    if options.resume:
        seed, budget = _resumed(options, checkpoint)
    with edge():
        source, sampling = _sampled(options, signal, seed)
        if options.resume and isinstance(options, FitShape):
            _check_voxels(source, checkpoint)
        plan = make_plan(source, budget, device=device.split(":")[0], model=options.model)
    plan.reasons.extend(sampling)
    if options.explain:
        terminal.explain(f"{signal!r} on {device}:", plan.reasons)
    size = signal.array.nbytes if hasattr(signal, "array") else options.file.stat().st_size
    prepare_folder(folder, 8 * MEBIBYTE + 4 * size)
    _foretell(options, terminal, signal, device)
    if options.overwrite and not options.resume:
        checkpoint.unlink(missing_ok=True)
    fit = _fit(options, terminal, source, plan, seed, device, checkpoint)
    files = _write(fit, folder, overwrite=options.overwrite or options.resume)
    checkpoint.unlink(missing_ok=True)
    _tell(options, terminal, fit, folder, files)
    return 0


def _open(options: FitSignal) -> Any:
    from staf.signals import open as open_signal

    if isinstance(options, FitImage) and options.max_pixels is not None:
        return open_signal(options.file, max_pixels=options.max_pixels)
    if isinstance(options, FitShape) and options.near_surface is None and options.band is not None:
        raise UserError("--band is how far --near-surface reaches: give both")
    signal = open_signal(options.file)
    if isinstance(options, FitShape):
        with edge():
            if options.repair:
                signal = signal.repaired()
            signal = signal.sampled(options.resolution, allow_open=options.allow_open)
    return signal


def _sampled(options: FitSignal, signal: Any, seed: int) -> tuple[Any, list[str]]:
    """What is fitted: the signal itself, or the task that prefers voxels near its surface, and a sentence about it."""
    if not isinstance(options, FitShape) or options.near_surface is None:
        return signal, []
    import torch

    from staf.tasks import Occupancy

    band = 2 if options.band is None else options.band
    generator = torch.Generator().manual_seed(seed)
    task = Occupancy(signal, near_surface=options.near_surface, band=band, generator=generator)
    said = f"{task.points:,} of {signal.points:,} voxels are fitted: all within {band} of the surface, others by chance"
    if task.points == signal.points:
        said = f"all voxels are fitted: {options.near_surface:g} of them or more are within {band} of the surface"
    return task, [said + "; measures see every voxel"]


def _check_folder(options: FitSignal, folder: Path, checkpoint: Path) -> None:
    """Refuse to train towards a folder that may not be written, or to resume from nothing."""
    from staf.reports.run_folder import existing

    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    if options.resume:
        if options.overwrite:
            raise UserError("--resume goes on with a fit and --overwrite starts anew: give one of them")
        if not checkpoint.exists():
            raise UserError(f"there is no interrupted fit in {folder} ({CHECKPOINT} is missing): leave --resume out")
    elif not options.overwrite:
        if checkpoint.exists():
            raise UserError(f"{folder} holds an interrupted fit: --resume goes on with it, --overwrite starts anew")
        if existing(folder):
            raise UserError(f"{folder} already holds a fit: pass --overwrite to replace it, or another --out")


def _resumed(options: FitSignal, checkpoint: Path) -> tuple[int, Budget]:
    """Seed and budget of the interrupted fit; options that contradict it are refused, not ignored."""
    from staf.fitting import Budget, FileError, read_header

    about = read_header(checkpoint).metadata
    try:
        recipe, seed, model = about["recipe"], about["seed"], (about["architecture"] or {}).get("name", options.model)
        saved = {"--seed": seed, **{f"--{n.replace('_', '-')}": recipe[n] for n in ("steps", "seconds", "target_db")}}
    except (KeyError, TypeError, AttributeError):
        raise FileError(f"{checkpoint} is not a complete checkpoint: start anew with --overwrite") from None
    given = {
        "--seed": options.seed,
        "--steps": options.steps,
        "--seconds": options.seconds,
        "--target-db": options.target_db,
    }
    for flag, value in given.items():
        if value is not None and value != saved[flag]:
            was = "without it" if saved[flag] is None else f"with {saved[flag]:g}"
            raise UserError(f"{flag} {value:g} was given, and the interrupted fit was started {was}: leave {flag} out")
    if model != options.model:
        raise UserError(f"the interrupted fit is of {model}: pass --model {model}")
    return seed, Budget(saved["--steps"], saved["--seconds"], saved["--target-db"])


def _check_voxels(source: Any, checkpoint: Path) -> None:
    """Refuse to go on with other voxels than the interrupted fit was started with, and name the options that choose."""
    from staf.fitting import Task, read_header
    from staf.fitting.checkpoint import fingerprint
    from staf.tasks import task_for

    about = read_header(checkpoint).metadata
    task = source if isinstance(source, Task) else task_for(source, about["recipe"].get("convention", "centres"))
    mark = fingerprint(task)
    if about.get("fingerprint", mark) != mark:
        raise UserError(
            "the interrupted fit was started with other voxels: give the same mesh, and --near-surface, --band, "
            "--resolution, --repair and --allow-open as they were then"
        )


def _foretell(options: FitSignal, terminal: Terminal, signal: Any, device: str) -> None:
    """Say what the budget does not count, where it is long enough to be taken for a hang."""
    if not options.progress or signal.kind != "image" or device != "cpu":
        return
    pixels = signal.height * signal.width
    if pixels >= MANY_PIXELS:
        terminal.note(
            f"note: after the training all {pixels:,} pixels are computed once more, to measure and to write them; "
            "that takes minutes on a CPU and is no part of --seconds"
        )


def _fit(
    options: FitSignal, terminal: Terminal, source: Any, plan: Plan, seed: int, device: str, checkpoint: Path
) -> Fit:
    from staf.api import fit
    from staf.fitting import Interrupted

    try:
        return fit(
            source,
            plan=plan,
            seed=seed,
            device=device,
            progress=None if options.progress else False,
            checkpoint=checkpoint,
            resume=checkpoint if options.resume else None,
        )
    except Interrupted as stop:
        where = f"the fit so far is in {stop.checkpoint}"
        if stop.checkpoint != checkpoint:
            where += f" (move it to {checkpoint} once there is room)"
        message = f"stopped after step {stop.step}; {where}, and this goes on with it:\n{terminal.resuming()}"
        raise Stopped(message, stop.signal_number) from None


def _write(fit: Fit, folder: Path, *, overwrite: bool) -> dict[str, str]:
    """The run folder; if it cannot take the model, the model is saved elsewhere rather than lost."""
    from staf._files import WriteError
    from staf.reports import write_run

    try:
        paths = write_run(fit, folder, overwrite=overwrite)
    except KeyboardInterrupt as stop:
        # The model is written first, and whole or not at all.
        number = getattr(stop, "signal_number", SIGINT)
        raise Stopped(f"stopped while the folder was written; {folder} holds what was ready", number) from None
    except WriteError as error:
        rescue = Path(tempfile.mkdtemp(prefix="staf-")) / "model.safetensors"
        fit.save(rescue)
        raise UserError(f"{error.strerror or error}; the fitted model is in {rescue}") from error
    names = ("model", "reconstruction", "history", "metrics", "config", "report")
    return {name: str(path) for name in names if (path := getattr(paths, name)) is not None}


def _tell(options: FitSignal, terminal: Terminal, fit: Fit, folder: Path, files: dict[str, str]) -> None:
    parameters = sum(p.numel() for p in fit.module.parameters())
    for note in fit.notes:
        terminal.note(f"note: {note}")
    metrics = _metrics(fit, files)
    words = {"psnr": f"{metrics['psnr']:.2f} dB PSNR"}
    if "psnr_of_file" in metrics:
        words["psnr"] += f" ({metrics['psnr_of_file']:.2f} dB of the saved file)"
    others = {name: value for name, value in metrics.items() if not name.startswith("psnr")}
    words |= {name: MEASURES.get(name, name + " {:.4g}").format(value) for name, value in others.items()}
    # For a shape, the share of the volume says more than an error over mostly empty space.
    terminal.say(", ".join(words[name] for name in sorted(words, key=lambda name: name != "iou")))
    terminal.say(
        f"{options.model}, {parameters:,} parameters, {fit.result.steps} steps in {fit.result.seconds:.1f} s "
        f"on {fit.device} ({fit.stopped})"
    )
    terminal.say(f"report: {files['report']}")
    terminal.finish(
        {
            "verb": "fit",
            "file": str(options.file),
            "model": options.model,
            "out": str(folder),
            "files": files,
            "metrics": metrics,
            "parameters": parameters,
            "steps": fit.result.steps,
            "seconds": round(fit.result.seconds, 3),
            "stopped": fit.stopped,
            "seed": fit.result.seed,
            "device": fit.device,
            "reasons": list(fit.plan.reasons),
            "notes": list(fit.notes),
        }
    )


def _metrics(fit: Fit, files: dict[str, str]) -> dict[str, float]:
    """The measures of the fit, and those that were made of what was written."""
    written = json.loads(Path(files["metrics"]).read_text(encoding="utf-8"))
    added = {name: written[name] for name in ("lpips", "psnr_of_file") if written.get(name) is not None}
    return {**fit.metrics, **added}
