"""`staf upscale FILE`: an image at several times its resolution, by a field fitted to its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tyro.conf import arg

from staf.cli.errors import edge
from staf.cli.options import Count, Flag, device_name
from staf.cli.restoration import (
    FIGURE,
    METRICS,
    MODEL,
    RestorationOptions,
    as_picture,
    draw,
    fit_task,
    folder_for,
    open_image,
    write,
)
from staf.cli.terminal import Terminal

# kodim03 at 128x128, 4x: 28.1 dB with 1, 28.5 with 2, 28.5 with 4; Lanczos 27.7.
SAMPLES = 2


@dataclass(frozen=True, kw_only=True)
class Upscale(RestorationOptions):
    """Upscale an image.

    The folder (runs/NAME-upscale unless --out names another) gets upscaled.png (or .tiff), model.safetensors and
    metrics.json. With --evaluate the image is the truth instead: it is averaged down first, and comparison.png shows
    what the field, bicubic and Lanczos bring back.
    """

    factor: Annotated[int, arg(metavar="N")] = 4
    """How many times finer; with --evaluate it must divide the image's sides."""
    samples: Count = None
    """Points a side of each pixel that the field is averaged over while it is fitted: 2, or 1 with --paper."""
    evaluate: Flag = False
    """Average the image down, upscale that, and measure against the image."""


def options_for(words: Sequence[str]) -> type[Any]:
    return Upscale


def run(options: Upscale, terminal: Terminal) -> int:
    """Fit the coarse pixels, write the fine ones."""
    image = open_image(options)
    from staf.fitting.plans import paper_staf_super_resolution
    from staf.fitting.restoration_plans import super_resolution
    from staf.tasks import Oracle, SuperResolution
    from staf.tasks.classical import measured, upscaled

    convention: Any = "ends" if options.paper else "centres"
    samples = options.samples if options.samples is not None else (1 if options.paper else SAMPLES)
    with edge():
        if options.evaluate:
            task = SuperResolution.simulated(image, options.factor, samples=samples, convention=convention)
        else:
            task = SuperResolution(image, options.factor, samples=samples, convention=convention)
        device = device_name(options.device).split(":")[0]
        plan = (
            paper_staf_super_resolution(task)
            if options.paper
            else super_resolution(task, options.budget(), device=device, model=options.model)
        )
    name = "upscaled.tiff" if image.dtype.kind == "f" else "upscaled.png"
    folder = folder_for(options, "upscale", image, [name, MODEL, METRICS, FIGURE])
    oracle = Oracle(task) if options.evaluate else None
    fit = fit_task(options, terminal, task, plan, [oracle] if oracle else [])
    document: dict[str, Any] = {
        "verb": "upscale",
        "file": str(options.file),
        "model": options.model,
        "factor": options.factor,
        "samples": samples,
        "metrics": dict(fit.metrics),
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 3),
        "notes": list(fit.notes),
    }
    pictures = {name: fit.reconstruction}
    if oracle is not None:
        rows = {options.model: (fit.metrics, task.transform.fitted(fit.reconstruction.values()))}
        rows |= {method: (measured(task, values), values) for method, values in upscaled(task).items()}
        document["methods"] = {method: measures for method, (measures, _) in rows.items()}
        document["oracle"] = {"psnr": oracle.psnr, "step": oracle.step}
        suffix = name.partition(".")[2]
        pictures |= {f"{method.lower()}.{suffix}": as_picture(task, rows[method][1]) for method in list(rows)[1:]}
    files = write(folder, fit, pictures, document)
    if oracle is not None:
        files["comparison"] = draw(folder, task, rows)
        table = [[method, f"{m['psnr']:.2f}", f"{m['ssim']:.4f}"] for method, (m, _) in rows.items()]
        terminal.table(f"{options.factor}x of {options.file}", ["method", "PSNR dB", "SSIM"], table)
        terminal.say(
            f"the best step by the truth, which nothing but an oracle knows: {oracle.psnr:.2f} dB at step {oracle.step}"
        )
    height, width = task.signal.shape
    terminal.say(f"{files['upscaled']}: {width}x{height} pixels")
    terminal.finish({**document, "out": str(folder), "files": files})
    return 0
