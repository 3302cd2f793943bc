"""Classical MRI at each of its strengths, and which strength held-out frequencies choose.

    python -m benchmarks.sweeps.mri_strengths kodim03.png kodim13.png --json mri-strengths.json

The centre square of each photo, in grey, is measured by one coil at a third of its columns, and by four coils at a
quarter, with noise. Strengths are chosen twice: by 5% of single frequencies, and by 10% of whole columns; neither sees
the truth. The PSNR of a strength is that of the method applied to everything that was measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from staf._files import atomic_write
from staf._machine import provenance
from staf.kinds import Image
from staf.kinds import open as open_signal
from staf.operators import MaskedFourier, cartesian_mask
from staf.tasks.classical import measured
from staf.tasks.inverse_classical import METHODS
from staf.tasks.magnetic_resonance import MagneticResonance, coil_sensitivities

COILS_AND_ACCELERATIONS = ((1, 3.0), (4, 4.0))
POINTS, COLUMNS = 0.05, 0.1
NOISE = 0.01
SHOWN = ("zero-filled", "wavelet-L1", "total variation")


def grey_square(path: Path, size: int) -> Image:
    """The centre of a photo, in grey."""
    photo = open_signal(path)
    grey = photo.values()[:, :3].mean(-1).reshape(photo.shape)
    top, left = ((side - size) // 2 for side in photo.shape)
    square = grey[top : top + size, left : left + size]
    return Image((square.clamp(0, 1) * 255).round().byte().numpy(), name=path.stem)


def held_out_columns(operator: MaskedFourier, share: float, generator: torch.Generator) -> Tensor:
    """Flat places of whole columns, none of them in the middle tenth."""
    columns = operator.input_shape[1]
    of = operator.index % columns
    present = of.unique()
    outer = present[(present - columns // 2).abs() > columns / 20]
    count = max(1, round(share * len(present)))
    chosen = outer[torch.randperm(len(outer), generator=generator)[:count]]
    places = torch.arange(torch.Size(operator.output_shape).numel()).reshape(operator.output_shape)
    return places[:, torch.isin(of, chosen)].flatten()


def row(photo: Image, coils: int, acceleration: float, seed: int) -> dict[str, Any]:
    """The PSNR of each method at each strength, and the strengths that are chosen."""
    draw = torch.Generator().manual_seed(seed)
    height, width = photo.shape
    mask = cartesian_mask((height, width), acceleration, generator=draw)
    operator = MaskedFourier(mask, coil_sensitivities((height, width), coils) if coils > 1 else None)
    task = MagneticResonance.simulated(photo, operator, noise=NOISE, held_out=POINTS, generator=draw)
    hidden = {"points": task.held_out_index, "columns": held_out_columns(operator, COLUMNS, draw)}
    found: dict[str, Any] = {"photo": photo.name, "coils": coils, "acceleration": acceleration}
    everything = torch.ones(operator.output_shape, dtype=torch.bool)
    for name in SHOWN:
        method = METHODS[name]
        psnr: list[float] = []
        errors: dict[str, list[float]] = {by: [] for by in hidden}
        for strength in method.strengths:
            whole = task.transform.clamp(method.solve(operator, task.observation, everything, strength))
            psnr.append(round(measured(task, whole.flatten(1).T)["psnr"], 2))
            for by, places in hidden.items():
                seen = everything.clone()
                seen.view(-1)[places] = False
                off = operator.A(method.solve(operator, task.observation, seen, strength)) - task.observation
                errors[by].append(float(off.flatten(1)[:, places].square().mean()))
        chosen = {by: psnr[of.index(min(of))] for by, of in errors.items()}
        found[name] = {"strengths": list(method.strengths), "psnr": psnr, "best": max(psnr), **chosen}
    return found


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(words)
    rows = []
    for path in options.photos:
        for coils, acceleration in COILS_AND_ACCELERATIONS:
            rows.append(row(grey_square(path, options.size), coils, acceleration, options.seed))
            told = {name: [rows[-1][name][of] for of in ("best", "points", "columns")] for name in SHOWN}
            print(rows[-1]["photo"], coils, acceleration, told, flush=True)
            if options.json is not None:
                about = {"size": options.size, "seed": options.seed, "noise": NOISE, **provenance("cpu")}
                atomic_write(options.json, json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
