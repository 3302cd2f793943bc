"""`staf upscale FILE`: an image at several times its resolution, by a field fitted to its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.cli.errors import edge
from staf.cli.options import Count, Flag
from staf.cli.restoration import (
    FIGURE,
    METRICS,
    MODEL,
    RestorationOptions,
    as_picture,
    check_enlarged,
    draw,
    fit_task,
    open_image,
    outcome,
    predicted_by,
    start_for,
    tell_choice,
    tell_methods,
    tell_oracle,
    write,
    write_metrics,
)
from staf.cli.resuming import finishing
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.signals.grid import Convention
    from staf.tasks import Oracle

# kodim03 at 128x128, 4x: 28.1 dB with 1, 28.5 with 2, 28.5 with 4; Lanczos 27.7.
SAMPLES = 2
# The share of pixels that is not fitted, by which the result is chosen.
HELD_OUT = 0.05


@dataclass(frozen=True, kw_only=True)
class Upscale(RestorationOptions):
    """Enlarge an image.

    The folder (runs/NAME-upscale unless --out names another) gets upscaled.png (or .tiff), model.safetensors,
    metrics.json and report.html. upscaled.png comes from the fitted field if that predicts held-out pixels clearly
    better than the other methods, otherwise from one of these; the command says which. With --evaluate, the image is
    averaged down first, and comparison.png compares the results with it. Ctrl-C writes a checkpoint, from which
    --resume continues.
    """

    scale: Annotated[int, arg(aliases=["--factor"], metavar="N")] = 4
    """The factor; with --evaluate it must divide the image's sides."""
    samples: Count = None
    """Average the field over N x N points of each pixel during training (default: 2, or 1 with --paper)."""
    evaluate: Flag = False
    """Average the image down, enlarge it again, and compare with the image."""


def options_for(words: Sequence[str]) -> type[object]:
    return Upscale


def run(options: Upscale, terminal: Terminal) -> int:
    """Fit the coarse pixels, write the fine ones."""
    image = open_image(options)
    import torch

    from staf.planning.plans import paper_staf_super_resolution
    from staf.planning.restoration import super_resolution
    from staf.tasks import Oracle, SuperResolution

    if not options.evaluate:
        check_enlarged(image, options.scale)
    convention: Convention = "ends" if options.paper else "centres"
    samples = options.samples if options.samples is not None else (1 if options.paper else SAMPLES)
    name = "upscaled.tiff" if image.dtype.kind == "f" else "upscaled.png"
    start = start_for(options, "upscale", image, [name, MODEL, METRICS, FIGURE])
    how: Document = {
        "samples": samples,
        "convention": convention,
        "held_out": 0.0 if options.paper else HELD_OUT,
        "generator": torch.Generator().manual_seed(start.seed),
    }
    with edge():
        if options.evaluate:
            task = SuperResolution.simulated(image, options.scale, **how)
        else:
            task = SuperResolution(image, options.scale, **how)
        device = options.device_name().split(":")[0]
        plan = (
            paper_staf_super_resolution(task)
            if options.paper
            else super_resolution(task, start.budget, device=device, model=options.model)
        )
    oracle = Oracle(task) if options.evaluate else None
    fit = fit_task(options, terminal, start, task, plan, [oracle] if oracle else [])
    with finishing(fit, start.folder, terminal):
        return _finish(options, terminal, start.folder, name, fit, oracle)


def _finish(options: Upscale, terminal: Terminal, folder: Path, name: str, fit: Fit, oracle: Oracle | None) -> int:
    """Write what is returned, beside the classical methods where the truth is known, and say how good it is."""
    from staf.tasks import SuperResolution
    from staf.tasks.classical import measured, upscaled
    from staf.tasks.returned import corrected, returned_upscaling

    task = fit.task
    assert isinstance(task, SuperResolution)
    fit.save(folder / MODEL)
    choice = returned_upscaling(task, predicted_by(fit), options.model)
    files = write(folder, fit, task, name, choice)
    document: Document = {
        "verb": "upscale",
        "file": str(options.file),
        "model": options.model,
        "factor": options.scale,
        "samples": task.samples,
        **outcome(fit, task, choice),
    }
    if oracle is not None:
        fitted = corrected(task, task.predict(predicted_by(fit)).cpu().T.reshape(-1, *task.signal.shape))
        rows = {options.model: (measured(task, fitted), fitted)}
        for method, values in upscaled(task).items():
            rows[method] = (measured(task, values), values)
            files[method.lower()] = str(as_picture(task, values).save(folder / f"{method.lower()}{Path(name).suffix}"))
        rows.setdefault(choice.method, (document["metrics"], choice.values))
        document["methods"] = {method: measures for method, (measures, _) in rows.items()}
        document["oracle"] = {"psnr": oracle.psnr, "step": oracle.step}
        files["comparison"] = draw(folder, task, rows)
        tell_methods(terminal, f"{options.scale}x of {options.file}", rows, choice)
        tell_oracle(terminal, oracle, ", before the correction to the given pixels, which the table includes")
    files |= write_metrics(folder, fit, document)
    height, width = task.signal.shape
    terminal.say(f"{files['upscaled']}: {width}x{height} pixels")
    tell_choice(terminal, choice)
    terminal.finish({**document, "out": str(folder), "files": files})
    return 0
