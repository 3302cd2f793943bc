"""`staf restore FILE`: a picture that is seen in part, blurred, coarse or noisy, brought back by a field."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.inverse import solve
from staf.cli.options import Flag, Number, check_counts, check_positive
from staf.cli.restoration import (
    FIGURE,
    METRICS,
    MODEL,
    REPORT,
    RestorationOptions,
    Start,
    check_enlarged,
    check_held_out,
    open_image,
    start_for,
)
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from torch import Tensor

    from staf.kinds import Image
    from staf.tasks.picture_restoration import PictureRestoration


@dataclass(frozen=True, kw_only=True)
class Restore(RestorationOptions):
    """Restore an image: fill in missing pixels, deblur, enlarge, denoise, or several of these.

    FILE is the observed image: blurred, then averaged down, then with missing pixels. With --evaluate, --keep or
    --photons, FILE is the original instead: this is done to it first, and comparison.png compares the results with it.
    The folder (runs/NAME-restore unless --out names another) gets restored.png (or .tiff), model.safetensors,
    metrics.json and report.html. restored.png comes from the fitted field if that predicts held-out pixels clearly
    better than the classical methods, otherwise from one of these; the command says which. --scale alone is `staf
    upscale`, and --photons alone `staf denoise`.
    """

    mask: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """An image of the size of the observed image, white where pixels are missing."""
    keep: Number = None
    """Keep only this share of the pixels, at random, and compare the result with the image."""
    blur: Number = None
    """The image is blurred by a Gaussian with this standard deviation, in pixels of the result."""
    scale: Annotated[int | None, arg(aliases=["--factor"], metavar="N", help_behavior_hint="")] = None
    """Enlarge by this factor; with --evaluate it must divide the image's sides."""
    photons: Number = None
    """Add the noise of a sensor that counts this many photons at full brightness, and compare with the image."""
    held_out: Annotated[float, arg(metavar="X")] = 0.05
    """The share of the observation that is held out of the fit, to choose when to stop and which result to return."""
    evaluate: Flag = False
    """FILE is the original: apply the other options to it, restore it, and compare."""


def options_for(words: Sequence[str]) -> type[object]:
    return Restore


def run(options: Restore, terminal: Terminal) -> int:
    """Fit what is observed, write what it shows."""
    given = {name for name in ("mask", "keep", "blur", "scale", "photons") if getattr(options, name) is not None}
    if not given:
        raise UserError("say what happened to the picture: give --mask, --keep, --blur, --scale or --photons")
    if given == {"scale"}:
        from staf.cli import upscale

        return upscale.run(upscale.Upscale(**_shared(options, upscale.Upscale)), terminal)
    if given == {"photons"}:
        from staf.cli import denoise

        return denoise.run(denoise.Denoise(**_shared(options, denoise.Denoise)), terminal)
    _check(options, given)
    image = open_image(options)
    if not _is_original(options):
        check_enlarged(image, options.scale or 1)
    name = "restored.tiff" if image.dtype.kind == "f" else "restored.png"
    start = start_for(options, "restore", image, [name, MODEL, METRICS, FIGURE, REPORT])
    with edge():
        task = _task(options, image, start, terminal)
    about: Document = {"verb": "restore", "file": str(options.file)}
    about |= {"keep": options.keep, "blur": options.blur, "factor": options.scale, "photons": options.photons}
    return solve(options, terminal, start, task, name, about, task.picture.cpu())


def _shared(options: Restore, kind: type[RestorationOptions]) -> Document:
    """What a short form takes of the options."""
    wanted = {entry.name for entry in dataclasses.fields(kind)}
    return {name: value for name, value in vars(options).items() if name in wanted}


def _check(options: Restore, given: set[str]) -> None:
    if {"mask", "keep"} <= given:
        raise UserError("--mask and --keep both say which pixels are seen: give one of them")
    if options.paper:
        raise UserError("--paper has a plan for `staf upscale` and `staf denoise` only: leave it out")
    check_held_out(options.held_out)
    check_counts(scale=options.scale)
    check_positive(keep=options.keep, blur=options.blur, photons=options.photons)
    if options.keep is not None and options.keep > 1:
        raise UserError(f"--keep is a share of the pixels, at most 1, got {options.keep:g}")


def _is_original(options: Restore) -> bool:
    """Whether FILE is what is looked for, and not what is observed of it."""
    return options.evaluate or options.keep is not None or options.photons is not None


def _task(options: Restore, image: Image, start: Start, terminal: Terminal) -> PictureRestoration:
    """The problem that the options describe."""
    import torch

    from staf.operators import PhotonNoise
    from staf.tasks.picture_restoration import PictureRestoration, picture_operator, random_mask

    generator = torch.Generator().manual_seed(start.seed)
    factor = options.scale or 1
    known = _is_original(options)
    height, width = image.shape
    if known and (height % factor or width % factor):
        raise UserError(f"--scale must divide the image's sides, got {factor} for {width}x{height}")
    seen = (height // factor, width // factor) if known else (height, width)
    mask = None
    if options.mask is not None:
        mask = _known_pixels(options.mask, seen, terminal)
    if options.keep is not None:
        mask = random_mask(seen, options.keep, generator)
    fine = (seen[0] * factor, seen[1] * factor)
    operator = picture_operator(fine, blur=options.blur, factor=factor, mask=mask)
    how: Document = {"held_out": options.held_out, "generator": generator}
    if known:
        noise = None if options.photons is None else PhotonNoise(options.photons)
        return PictureRestoration.simulated(image, operator, noise=noise, **how)
    observation = image.values().T.reshape(image.out_features, *seen)
    if mask is not None:
        observation = observation.flatten(1)[:, mask.flatten()]
    return PictureRestoration(image.empty(fine), operator, observation, **how)


def _known_pixels(path: Path, shape: tuple[int, int], terminal: Terminal) -> Tensor:
    """True where a mask image is black; says how many pixels are missing, so that an inverted mask is noticed."""
    from staf.kinds import Image
    from staf.kinds import open as open_signal

    mask = open_signal(path)
    if not isinstance(mask, Image) or mask.shape != shape:
        raise UserError(
            f"--mask must be an image of {shape[1]}x{shape[0]} pixels, as what is observed, got {mask.kind} of "
            f"{'x'.join(str(size) for size in reversed(mask.shape))}"
        )
    missing = mask.values()[:, : min(3, mask.out_features)].mean(-1) > 0.5
    if bool(missing.all()):
        raise UserError(f"--mask is white where pixels are missing, and {path} is white everywhere")
    if not bool(missing.any()):
        raise UserError(f"--mask is white where pixels are missing, and {path} is white nowhere: leave --mask out")
    terminal.say(f"{int(missing.sum()):,} of {missing.numel():,} pixels are missing: {path} is white there")
    return (~missing).reshape(shape)
