"""`staf fit FILE`: fit a field, and leave a folder with the model, the reconstruction and a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staf.cli.errors import UserError, edge
from staf.cli.fit_options import FitAudio, FitImage, FitShape, FitSignal
from staf.cli.kinds import kind_of
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.resuming import CHECKPOINT, check_folder, finishing, interrupted, resumed
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.planning import Plan

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
    from staf.planning import plan as make_plan
    from staf.reports.run_folder import existing

    signal = _open(options)
    device = options.device_name()
    folder = options.out or Path("runs") / f"{signal.name}-{options.model}"
    checkpoint = folder / CHECKPOINT
    seed, budget = options.seed or 0, options.budget()
    with edge():
        make_plan(signal, budget, device=device.split(":")[0], model=options.model)
    check_folder(options, folder, "a fit" if existing(folder) else None)
    if options.resume:
        seed, budget = resumed(options, options.model, checkpoint)
    with edge():
        source, sampling = _sampled(options, signal, seed)
        if options.resume and isinstance(options, FitShape):
            _check_voxels(source, checkpoint)
        plan = make_plan(source, budget, device=device.split(":")[0], model=options.model)
    for sentence in sampling:
        plan.reasons["sampling"] = sentence
    if options.explain:
        terminal.explain(f"{signal!r} on {device}:", plan.reasons.values())
    size = signal.array.nbytes if hasattr(signal, "array") else options.file.stat().st_size
    prepare_folder(folder, 8 * MEBIBYTE + 4 * size)
    _foretell(options, terminal, signal, device)
    if options.overwrite and not options.resume:
        checkpoint.unlink(missing_ok=True)
    fit = _fit(options, terminal, source, plan, seed, device, checkpoint)
    with finishing(fit, folder, terminal):
        files = _write(fit, folder, overwrite=options.overwrite or options.resume)
    _tell(options, terminal, fit, folder, files)
    return 0


def _open(options: FitSignal) -> Any:
    from staf.kinds import open as open_signal

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


def _check_voxels(source: Any, checkpoint: Path) -> None:
    """Refuse to go on with other voxels than the interrupted fit was started with, and name the options that choose."""
    from staf.storage import read_header
    from staf.tasks import task_for
    from staf.training import Task
    from staf.training.checkpoint import fingerprint

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
    from staf.training import Interrupted

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
        raise interrupted(stop, checkpoint, terminal) from None


def _write(fit: Fit, folder: Path, *, overwrite: bool) -> dict[str, str]:
    from staf.reports import write_run

    paths = write_run(fit, folder, overwrite=overwrite)
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
            "reasons": list(fit.plan.reasons.values()),
            "notes": list(fit.notes),
        }
    )


def _metrics(fit: Fit, files: dict[str, str]) -> dict[str, float]:
    """The measures of the fit, and those that were made of what was written."""
    written = json.loads(Path(files["metrics"]).read_text(encoding="utf-8"))
    added = {name: written[name] for name in ("lpips", "psnr_of_file") if written.get(name) is not None}
    return {**fit.metrics, **added}
