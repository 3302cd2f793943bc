"""How the first layer's omega0 depends on the signal: a sweep over omega0 for signals of one size and many bandwidths.

`python -m benchmarks.sweeps.omega0 FOLDER kodim13 ... --side 64 --width 64 --steps 300` reads FOLDER/NAME.png or .npy,
reduces each picture to SIDE x SIDE by area means, adds blurred copies of it, noise and a drawing, and fits each with
omega0 at every one of FACTORS times the picture's mean frequency (`staf.planning.spectrum`) and at the plan's own.
`--only` keeps the signals whose names are given. Printed for each fit: PSNR at the pixels, and PSNR of the field
against the band-limited interpolation of the pixels at twice the resolution. `--out` writes all as JSON.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from staf.planning import Budget, plan
from staf.planning.spectrum import grid_detail
from staf.signals.grid import coordinates
from staf.tasks import Reconstruction
from staf.training import predictor, run

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


def reduced(path: Path, side: int) -> np.ndarray:
    """A picture as side x side area means, in [0, 1]."""
    pixels = np.load(path) if path.suffix == ".npy" else staf.open(path).array
    block = min(pixels.shape[:2]) // side
    part = pixels[: block * side, : block * side].astype(np.float64) / 255
    return np.asarray(part.reshape(side, block, side, block, -1).mean((1, 3)))


def blurred(picture: np.ndarray, sigma: float) -> np.ndarray:
    """A picture convolved with a gaussian of `sigma` pixels, mirrored at its edges."""
    side = len(picture)
    frequency = 2 * np.pi * np.fft.fftfreq(2 * side)
    kernel = np.exp(-((sigma * frequency) ** 2) / 2)
    mirrored = np.concatenate([picture, picture[::-1]], 0)
    mirrored = np.concatenate([mirrored, mirrored[:, ::-1]], 1)
    spectrum = np.fft.fft2(mirrored, axes=(0, 1)) * kernel[:, None, None] * kernel[None, :, None]
    return np.asarray(np.fft.ifft2(spectrum, axes=(0, 1)).real[:side, :side])


def drawing(side: int) -> np.ndarray:
    """Thin dark circles and rays on white: sharp everywhere, empty in most places."""
    y, x = np.meshgrid(*[(np.arange(4 * side) + 0.5) / (4 * side) - 0.5] * 2, indexing="ij")
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    lines = (np.abs(radius % 0.15 - 0.05) < 0.75 / side) | (np.abs(np.sin(4 * angle)) * radius < 2.0 / side)
    ink = lines.reshape(side, 4, side, 4).mean((1, 3))
    return np.repeat(1 - ink[..., None], 3, axis=2)


def catalogue(folder: Path, names: list[str], side: int) -> dict[str, staf.Image]:
    """The signals, as 8-bit images of one size."""
    made = {}
    for name in names:
        path = folder / f"{name}.png"
        photo = reduced(path if path.exists() else folder / f"{name}.npy", side)
        made[name] = photo
        for sigma in (side / 64, side / 16):
            made[f"{name} blurred {sigma:g}"] = blurred(photo, sigma)
    noise = np.random.default_rng(0).uniform(0, 1, (side, side, 3))
    made |= {"noise": noise, "noise blurred 1": 0.5 + 3 * (blurred(noise, 1) - 0.5), "drawing": drawing(side)}
    return {
        name: staf.Image((255 * picture.clip(0, 1)).round().astype(np.uint8), name=name)
        for name, picture in made.items()
    }


def interpolation_psnr(field: torch.nn.Module, image: staf.Image, device: str) -> float:
    """PSNR at twice the resolution against the band-limited (cosine) interpolation of the pixels."""
    height, width = image.shape
    pixels = image.values().double().reshape(height, width, -1)
    rows = torch.einsum("ai,ijc->ajc", _interpolation(height), pixels)
    wanted = torch.einsum("bj,ajc->abc", _interpolation(width), rows)
    predict = predictor(field, 2**16)
    values = predict(coordinates((2 * height, 2 * width)).to(device)).double().cpu().reshape(wanted.shape)
    return -10 * math.log10(float((values.clamp(0, 1) - wanted.clamp(0, 1)).square().mean()))


def _interpolation(size: int) -> torch.Tensor:
    """The matrix (2 size, size) that evaluates the cosine series of `size` samples at twice as many."""
    k = torch.arange(size, dtype=torch.float64)
    analysis = torch.cos(torch.pi * k[:, None] * (k[None, :] + 0.5) / size) * (2 / size)
    analysis[0] /= 2
    fine = (torch.arange(2 * size, dtype=torch.float64) + 0.5) / 2
    return torch.cos(torch.pi * fine[:, None] * k[None, :] / size) @ analysis


def one(image: staf.Image, model: str, omega0: float, options: argparse.Namespace) -> dict[str, Any]:
    """One fit: its PSNR at the pixels, and interpolated between them."""
    generator = torch.Generator().manual_seed(options.seed)
    field = staf.nn.NETWORKS[model].factory(
        2, image.out_features, width=options.width, omega0=omega0, generator=generator
    )
    recipe = plan(image, Budget(steps=options.steps), device="cuda", model=model).recipe
    task = Reconstruction(image).to(options.device)
    result = run(task, field.to(options.device), recipe, seed=options.seed, progress=False)
    return {
        "psnr": result.metrics["psnr"],
        "interpolation_psnr": interpolation_psnr(field, image, options.device),
        "stopped": result.stopped,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("images", nargs="*")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--factors", nargs="+", type=float, default=FACTORS)
    parser.add_argument("--models", nargs="+", default=["staf"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for name, image in catalogue(options.folder, options.images, options.side).items():
        if options.only and name not in options.only:
            continue
        frequency, wave = grid_detail(image) or (0.0, 0.0)
        print(f"{name}: mean frequency {frequency:.1f}, a wave of {wave:.1f} pixels")
        for model in options.models:
            architecture: Any = plan(image, model=model).field(0).architecture
            chosen = architecture["arguments"]["omega0"]
            for omega0 in sorted({*(round(factor * frequency, 2) for factor in options.factors), chosen}):
                row = {"signal": name, "frequency": frequency, "model": model, "omega0": omega0}
                row |= {"chosen": omega0 == chosen, **one(image, model, omega0, options)}
                rows.append(row)
                mark = "*" if row["chosen"] else " "
                print(
                    f"{model:8s} {omega0:7.2f}{mark} {row['psnr']:6.2f} dB, "
                    f"interpolated {row['interpolation_psnr']:6.2f} dB, {row['stopped']}",
                    flush=True,
                )
                if options.out:
                    options.out.write_text(json.dumps(_document(options, rows), indent=1) + "\n", encoding="utf-8")


def _document(options: argparse.Namespace, rows: list[dict[str, Any]]) -> dict[str, Any]:
    cuda = options.device.startswith("cuda")
    return {
        "protocol": f"{options.side}x{options.side}, four layers of {options.width}, {options.steps} full-batch steps "
        f"of the plan's recipe, seed {options.seed}; final weights, one pass, clamped, peak 1",
        "machine": torch.cuda.get_device_name() if cuda else f"CPU, {platform.machine()}",
        "versions": {"staf": staf.__version__, "torch": torch.__version__, "numpy": np.__version__},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "fits": rows,
    }


if __name__ == "__main__":
    main()
