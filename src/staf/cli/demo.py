"""`make demo`: fit a photo on this machine's CPU, print what came out, and leave a run folder with its report."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from staf._extras import need
from staf.api import Fit, fit
from staf.kinds import SAMPLES, Image, sample_photo
from staf.kinds import open as open_signal
from staf.planning import plans
from staf.reports import RunError, write_run
from staf.signals import SignalError

SIDE = 256
SECONDS = 100.0
MOST_STEPS = 1000
ENOUGH_DB = 40.0
PHOTO = "astronaut"


def square(photo: Image, side: int = SIDE) -> Image:
    """The centre square of a photo, reduced to `side` pixels by area means; a smaller photo is left as it is.

    >>> square(sample_photo("coffee")).shape
    (256, 256)
    """
    if min(photo.shape) <= side:
        return photo
    resize_local_mean = need("image", "skimage.transform").resize_local_mean

    size = min(photo.shape)
    top, left = (photo.height - size) // 2, (photo.width - size) // 2
    crop = photo.array[top : top + size, left : left + size].astype(np.float64)
    reduced = resize_local_mean(crop, (side, side), channel_axis=-1, preserve_range=True)
    return photo.with_pixels((reduced if photo.dtype.kind == "f" else np.rint(reduced)).astype(photo.dtype))


def demonstrate(
    photo: Image, out: Path, *, seconds: float = SECONDS, seed: int = 0, progress: bool | None = None
) -> Fit:
    """Fit a photo by the default plan on the CPU, for `seconds` or until 40 dB, and write its run folder."""
    image = square(photo)
    out.mkdir(parents=True, exist_ok=True)
    image.source = str(out / "photo.png")
    image.save(image.source)
    budget = plans.Budget(steps=MOST_STEPS, seconds=seconds, target_db=ENOUGH_DB)
    result = fit(image, plan=plans.plan(image, budget), seed=seed, device="cpu", progress=progress)
    write_run(result, out, overwrite=True)
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; exit code 2 for a mistake of the user's."""
    parser = argparse.ArgumentParser(prog="python -m staf.cli.demo", description=__doc__)
    parser.add_argument("photo", nargs="?", default=PHOTO, help=f"a file, or one of {', '.join(SAMPLES)}")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="the run folder (default: demo)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"training time (default: {SECONDS:g})")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        photo = sample_photo(options.photo) if options.photo in SAMPLES else open_signal(options.photo)
        if not isinstance(photo, Image):
            raise SignalError(f"the demonstration fits photos, and {options.photo!r} is {photo.kind}")
        print(f"Fitting {square(photo)!r} on the CPU: to {ENOUGH_DB:g} dB, or {options.seconds:g} seconds.")
        result = demonstrate(photo, options.out, seconds=options.seconds, seed=options.seed)
    except (SignalError, RunError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    psnr, ssim = result.metrics["psnr"], result.metrics["ssim"]
    print(f"{psnr:.2f} dB over all {result.task.points:,} pixels (SSIM {ssim:.4f}), {result.result.steps} steps")
    print(f"{time.monotonic() - started:.0f} seconds in all, {result.result.seconds:.0f} of them training")
    print(f"Look at {options.out / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
