"""`staf denoise FILE`: denoise an image with a field that stops before it fits the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.options import Number, check_positive
from staf.cli.restoration import (
    FIGURE,
    METRICS,
    MODEL,
    RestorationOptions,
    as_picture,
    check_held_out,
    draw,
    fit_task,
    keep_best,
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
    from staf.tasks import KeepBestHeldOut, Oracle


@dataclass(frozen=True, kw_only=True)
class Denoise(RestorationOptions):
    """Denoise an image.

    The folder (runs/NAME-denoise unless --out names another) gets denoised.png (or .tiff), model.safetensors,
    metrics.json and report.html. Some pixels are held out of the fit, and the weights that predict them best are kept.
    denoised.png comes from the fitted field if that predicts these pixels clearly better than total variation,
    non-local means and patch groups, otherwise from one of these or a mean of several; the command says which. With
    --photons, the image is taken as clean: noise is added first, and comparison.png compares the results with it.
    Ctrl-C writes a checkpoint, from which --resume continues.
    """

    held_out: Annotated[float, arg(metavar="X")] = 0.05
    """The share of pixels that is held out of the fit, between 0 and 1."""
    photons: Number = None
    """Add the noise of a sensor that counts this many photons at full brightness, and compare with the image."""
    readout: Annotated[float, arg(metavar="X")] = 0.0
    """With --photons: the standard deviation of added readout noise, in photons."""


def options_for(words: Sequence[str]) -> type[object]:
    return Denoise


def run(options: Denoise, terminal: Terminal) -> int:
    """Fit the noisy pixels until the held-out ones say stop, and write what the field shows."""
    image = open_image(options)
    import torch

    from staf.operators import PhotonNoise
    from staf.planning.plans import paper_staf_denoising
    from staf.planning.restoration import denoising
    from staf.tasks import Denoising, Oracle

    if options.readout and options.photons is None:
        raise UserError("--readout is noise that --photons adds: give both")
    check_held_out(options.held_out)
    check_positive(photons=options.photons)
    name = "denoised.tiff" if image.dtype.kind == "f" else "denoised.png"
    start = start_for(options, "denoise", image, [name, MODEL, METRICS, FIGURE])
    how: Document = {
        "generator": torch.Generator().manual_seed(start.seed),
        "held_out": options.held_out,
        "convention": "ends" if options.paper else "centres",
    }
    with edge():
        if options.photons is None:
            task = Denoising(image, **how)
        else:
            task = Denoising.simulated(image, PhotonNoise(options.photons, options.readout), **how)
        device = options.device_name().split(":")[0]
        plan = (
            paper_staf_denoising(task)
            if options.paper
            else denoising(task, start.budget, device=device, model=options.model)
        )
    keep = keep_best(task)
    oracle = Oracle(task, every=10) if options.photons is not None else None
    fit = fit_task(options, terminal, start, task, plan, [keep, oracle] if oracle else [keep])
    with finishing(fit, start.folder, terminal):
        return _finish(options, terminal, start.folder, name, fit, keep, oracle)


def _finish(
    options: Denoise,
    terminal: Terminal,
    folder: Path,
    name: str,
    fit: Fit,
    keep: KeepBestHeldOut,
    oracle: Oracle | None,
) -> int:
    """Write what is returned, beside the classical methods where the truth is known, and say how good it is."""
    from staf.tasks import Denoising
    from staf.tasks.classical import denoising_candidates, measured
    from staf.tasks.returned import returned_denoising

    task = fit.task
    assert isinstance(task, Denoising)
    # A fit that ended before held-out pixels were looked at has its last weights.
    kept = keep.best_step or fit.result.steps
    fit.save(folder / MODEL)
    candidates = denoising_candidates(task)
    choice = returned_denoising(task, predicted_by(fit), options.model, candidates)
    files = write(folder, fit, task, name, choice)
    document: Document = {
        "verb": "denoise",
        "file": str(options.file),
        "model": options.model,
        "kept_step": kept,
        **outcome(fit, task, choice),
    }
    if oracle is not None:
        noisy = task.transform.clamp(task.target.cpu())
        files["noisy"] = str(as_picture(task, noisy).save(folder / name.replace("denoised", "noisy")))
        rows = {options.model: (fit.metrics, task.predict(predicted_by(fit)).cpu())}
        rows |= {method: (measured(task, found.values), found.values) for method, found in candidates.items()}
        rows.setdefault(choice.method, (document["metrics"], choice.values))
        document["methods"] = {method: measures for method, (measures, _) in rows.items()}
        document["noisy"] = measured(task, noisy)
        document["oracle"] = {"psnr": oracle.psnr, "step": oracle.step}
        files["comparison"] = draw(folder, task, rows)
        tell_methods(
            terminal,
            f"{options.photons:g} photons, {options.file}",
            {**rows, "(noisy)": (document["noisy"], noisy)},
            choice,
        )
        tell_oracle(terminal, oracle)
    files |= write_metrics(folder, fit, document)
    of = (
        f"the weights of step {kept} of {fit.result.steps}" if choice.method == options.model else f"by {choice.method}"
    )
    terminal.say(f"{files['denoised']}: {of}")
    tell_choice(terminal, choice)
    terminal.finish({**document, "out": str(folder), "files": files})
    return 0
