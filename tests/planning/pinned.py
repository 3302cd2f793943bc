"""Plans that must not change unnoticed: what each case is, and what of its plan is kept.

`PYTHONPATH=src:. python -m tests.planning.pinned` writes tests/planning/data/plans.json anew, after a change that is
meant; the difference in git then shows what it did.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from staf.kinds import Audio, Image, Shape
from staf.kinds.shape.task import Occupancy
from staf.operators import PhotonNoise
from staf.planning import Budget, Plan, plan, recipes
from staf.planning.plans import for_own_network
from staf.planning.restoration import denoising, super_resolution
from staf.tasks import Denoising, Reconstruction, SuperResolution

FILE = Path(__file__).parent / "data" / "plans.json"
MODELS = ("staf", "siren", "finer", "wire", "gauss", "ffn", "pemlp", "mfn", "incode")
SOME = ("staf", "finer", "pemlp")


def photo(side: int) -> np.ndarray:
    """Random phases whose amplitudes fall like 1/f, as those of photographs do."""
    rng = np.random.default_rng(side)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side), indexing="ij"))
    frequency[0, 0] = np.inf
    values = np.fft.ifft2(np.fft.fft2(rng.standard_normal((side, side))) / frequency).real
    return (255 * (0.5 + 0.15 * values / values.std()).clip(0, 1)).round().astype(np.uint8)


@cache
def picture(side: int) -> Image:
    return Image(photo(side))


def unseen(side: int) -> Any:
    return SimpleNamespace(in_features=2, out_features=3, shape=(side, side))


@cache
def recording(seconds: float, channels: int = 1, rate: int = 8000) -> Audio:
    wave = np.random.default_rng(0).uniform(-1, 1, (round(seconds * rate), channels)).astype(np.float32)
    return Audio(np.cumsum(wave, 0) / 100, rate)


@cache
def sphere(resolution: int) -> Shape:
    return Shape.sphere(resolution=resolution)


@cache
def noisy(side: int) -> Denoising:
    return Denoising.simulated(picture(side), PhotonNoise(10), generator=torch.Generator().manual_seed(0))


@cache
def coarse(side: int, samples: int) -> SuperResolution:
    return SuperResolution.simulated(picture(side), 2, samples=samples)


# Name -> what is planned for, by which function, the budget, the device, and the networks.
CASES: dict[str, tuple[Callable[[], Any], Callable[..., Plan], Budget, str, tuple[str, ...]]] = {
    "unseen 256, cpu": (lambda: unseen(256), plan, Budget(), "cpu", MODELS),
    "unseen 256, cuda, 300 steps": (lambda: unseen(256), plan, Budget(steps=300), "cuda", MODELS),
    "unseen 256, cuda, 10 s": (lambda: unseen(256), plan, Budget(seconds=10.0), "cuda", SOME),
    "unseen 256, cuda, 6 s": (lambda: unseen(256), plan, Budget(seconds=6.0), "cuda", SOME),
    "picture 256, cuda, 100 steps": (lambda: picture(256), plan, Budget(steps=100), "cuda", MODELS),
    "picture 64, cpu, 40 steps": (lambda: picture(64), plan, Budget(steps=40), "cpu", SOME),
    "picture 64, cuda": (lambda: picture(64), plan, Budget(target_db=40.0), "cuda", SOME),
    "task of picture 128, cuda": (lambda: Reconstruction(picture(128)), plan, Budget(), "cuda", SOME),
    "recording 0.5 s, cpu, 20 steps": (lambda: recording(0.5), plan, Budget(steps=20), "cpu", MODELS),
    "recording 2 s, cpu": (lambda: recording(2.0, 2), plan, Budget(), "cpu", MODELS),
    "recording 2 s, cuda, 500 steps": (lambda: recording(2.0), plan, Budget(steps=500), "cuda", MODELS),
    "task of recording, cuda, 5 s": (lambda: Reconstruction(recording(0.5)), plan, Budget(seconds=5.0), "cuda", SOME),
    "shape 16, cuda": (lambda: sphere(16), plan, Budget(), "cuda", MODELS),
    "task of shape 80, cuda": (lambda: Occupancy(sphere(80)), plan, Budget(steps=9), "cuda", SOME),
    "shape 32, cpu": (lambda: sphere(32), plan, Budget(seconds=2.0), "cpu", SOME),
    "noisy 64, cuda": (lambda: noisy(64), denoising, Budget(), "cuda", MODELS),
    "noisy 256, cpu": (lambda: noisy(256), denoising, Budget(), "cpu", MODELS),
    "noisy 256, cuda, 400 steps": (lambda: noisy(256), denoising, Budget(steps=400), "cuda", SOME),
    "coarse 64, cuda": (lambda: coarse(64, 2), super_resolution, Budget(target_db=30.0), "cuda", MODELS),
    "coarse 256, cpu": (lambda: coarse(256, 2), super_resolution, Budget(), "cpu", MODELS),
    "coarse 256, one sample, cpu": (lambda: coarse(256, 1), super_resolution, Budget(seconds=3.0), "cpu", SOME),
    "own network, picture": (lambda: picture(256), for_own_network, Budget(steps=5), "cuda", ("",)),
    "own network, recording": (lambda: recording(0.5), for_own_network, Budget(), "cpu", ("",)),
}


def described(chosen: Plan) -> dict[str, Any]:
    """What of a plan is kept: the recipe where it differs from ours, the network's constants, its first weights."""
    usual = recipes.default().to_plain()
    recipe = {name: value for name, value in chosen.recipe.to_plain().items() if value != usual[name]}
    field: Any = chosen.field(7)
    arguments = {name: value for name, value in field.architecture["arguments"].items() if value is not None}
    return {
        "recipe": recipe,
        "network": field.architecture["name"],
        "arguments": arguments,
        "sum": float(sum(p.detach().abs().double().sum() for p in field.parameters())),
    }


def digest(chosen: Plan) -> str:
    """Every bit of the weights that a plan starts from; may differ between processors."""
    state = chosen.field(7).state_dict()
    return hashlib.sha256(b"".join(state[name].contiguous().numpy().tobytes() for name in sorted(state))).hexdigest()


def plans() -> Iterator[tuple[str, Plan]]:
    for name, (signal, make, budget, device, models) in CASES.items():
        for model in models:
            chosen = {"model": model} if model else {}
            yield " / ".join([name, *chosen.values()]), make(signal(), budget, device=device, **chosen)


def main() -> None:
    rows = {name: described(chosen) for name, chosen in plans()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    FILE.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
