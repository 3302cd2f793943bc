"""What restorations return where the fit is not chosen, beside the methods anyone has: mean and spread over photos.

    python -m benchmarks.sweeps.restorations photo.png other.png --out restorations.json

The centre crop of each photo is seen in three ways: a fifth of its pixels, ten photons, area means of 4x4. The field
that is offered beside the other methods is a grey one, so that the table is about these alone. BM3D is measured where
`pip install bm3d` has been done; its licence allows that and little more. It is told the noise, and works on values
that Anscombe's transform has given a variance of one; the others find the noise by held-out pixels. Seconds are
processor time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from staf._files import atomic_write
from staf._machine import provenance
from staf.kinds import Image
from staf.kinds import open as open_signal
from staf.operators import Mask, PhotonNoise
from staf.tasks import Denoising, SuperResolution
from staf.tasks.classical import denoising_candidates, measured, upscaled
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.non_local import sharpened
from staf.tasks.picture_restoration import PictureRestoration, random_mask
from staf.tasks.returned import chosen_of, corrected, returned_denoising, returned_upscaling

PHOTONS, SHARE, FACTOR, HELD_OUT = 10.0, 0.2, 4, 0.05
Row = dict[str, Any]


def grey(points: Tensor) -> Tensor:
    """A field that no held-out pixel prefers."""
    return points[:, :1].expand(-1, 3) * 0 + 0.5


def inpainting(photo: Image, seed: int) -> Row:
    """A fifth of the pixels."""
    generator = torch.Generator().manual_seed(seed)
    mask = Mask(random_mask(photo.shape, SHARE, generator))
    task = PictureRestoration.simulated(photo, mask, generator=generator, held_out=HELD_OUT)
    found = inverse_candidates(task)
    choice = chosen_of(task, grey, found, "grey")
    rows = {name: _psnr(task, candidate.values) for name, candidate in found.items()}
    return {**rows, "returned": _psnr(task, choice.values), "which": choice.method}


def denoising(photo: Image, seed: int) -> Row:
    """Ten photons."""
    generator = torch.Generator().manual_seed(seed)
    task = Denoising.simulated(photo, PhotonNoise(PHOTONS), generator=generator, held_out=HELD_OUT)
    found = denoising_candidates(task)
    choice = returned_denoising(task, grey, "grey", found)
    rows = {name: _psnr(task, candidate.values) for name, candidate in found.items()}
    if importlib.util.find_spec("bm3d") is not None:
        rows["BM3D"] = _psnr(task, bm3d(task.observation).flatten(1).T)
    return {**rows, "returned": _psnr(task, choice.values), "which": choice.method}


def enlarging(photo: Image, seed: int) -> Row:
    """Area means of 4x4."""
    generator = torch.Generator().manual_seed(seed)
    task = SuperResolution.simulated(photo, FACTOR, held_out=HELD_OUT, generator=generator)
    found = upscaled(task)
    lanczos = found["Lanczos"].T.reshape(3, *photo.shape)
    found = {"Lanczos": found["Lanczos"], "bicubic": found["bicubic"], "Lanczos, corrected": corrected(task, lanczos)}
    found["Lanczos, sharpened"] = sharpened(lanczos, task.observation, FACTOR).flatten(1).T
    rows = {name: _psnr(task, values) for name, values in found.items()}
    choice = returned_upscaling(task, grey, "grey")
    return {**rows, "returned": _psnr(task, choice.values), "which": choice.method}


PROBLEMS: dict[str, Callable[[Image, int], Row]] = {
    "inpainting": inpainting,
    "denoising": denoising,
    "enlarging": enlarging,
}


def bm3d(noisy: Tensor) -> Tensor:
    """BM3D of photon counts: Anscombe's transform 2 sqrt(n + 3/8), sigma 1, and its unbiased inverse (closed form)."""
    import bm3d

    counts = PHOTONS * noisy.clamp(min=0).double()
    steady = 2 * torch.sqrt(counts + 3 / 8)
    peak = float(steady.max())
    done = bm3d.bm3d_rgb((steady / peak).movedim(0, -1).numpy(), 1 / peak)
    z = (torch.from_numpy(np.asarray(done)).movedim(-1, 0) * peak).clamp(min=2 * (3 / 8) ** 0.5)
    root = (3 / 2) ** 0.5
    counts = z**2 / 4 + root / (4 * z) - 11 / (8 * z**2) + 5 * root / (8 * z**3) - 1 / 8
    return (counts / PHOTONS).float()


def crop(path: Path, size: int) -> Image:
    """The centre of a photo."""
    photo = open_signal(path)
    if not isinstance(photo, Image) or min(photo.shape) < size or photo.out_features != 3:
        raise ValueError(f"photos must be colour images of at least {size}x{size} pixels, got {path}")
    top, left = ((side - size) // 2 for side in photo.shape)
    return Image(photo.array[top : top + size, left : left + size])


def _psnr(task: Any, values: Tensor) -> float:
    return round(measured(task, values.clamp(0, 1))["psnr"], 3)


def table(rows: Sequence[Row]) -> str:
    """A row for each photo, their mean, and the mean and standard deviation of the gain over the first method."""
    methods = [name for name in rows[0] if name not in ("photo", "which", "seconds")]
    lines = ["| image | " + " | ".join(methods) + " | which |", "|---|" + "---:|" * len(methods) + "---|"]
    for row in rows:
        lines.append(f"| {row['photo']} | " + " | ".join(f"{row[m]:.2f}" for m in methods) + f" | {row['which']} |")
    values = np.array([[row[m] for m in methods] for row in rows])
    gains = values - values[:, :1]
    lines.append("| mean | " + " | ".join(f"{v:.2f}" for v in values.mean(0)) + " | |")
    spread = gains.std(0, ddof=1) if len(rows) > 1 else gains[0] * 0
    told = " | ".join(f"{mean:+.2f} ± {off:.2f}" for mean, off in zip(gains.mean(0), spread, strict=True))
    return "\n".join([*lines, f"| over {methods[0]} | {told} | |"])


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="+", type=Path)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--size", type=int, default=96, metavar="N", help="side of the centre crop")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args(words)
    results: dict[str, list[Row]] = {name: [] for name in options.problems}
    for path in options.photos:
        photo = crop(path, options.size)
        for name in options.problems:
            began = time.process_time()
            row = PROBLEMS[name](photo, options.seed)
            results[name].append({"photo": path.stem, **row, "seconds": round(time.process_time() - began, 1)})
            print(name, results[name][-1], flush=True)
            if options.out is not None:
                about = {"size": options.size, "seed": options.seed, **provenance("cpu")}
                atomic_write(options.out, json.dumps({**about, "results": results}, indent=1) + "\n")
    for name, rows in results.items():
        print(f"\n{name}\n{table(rows)}")


if __name__ == "__main__":
    main()
