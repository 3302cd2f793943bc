"""The same search of settings for every network on shapes: by one shape alone, and then others as a check.

    python -m paper.searches.shape_search 256/armadillo.npz --check 256/lucy.npz 256/bunny.npz --out search.json

Each network begins with its default plan. Every stage tries a few changes of what is best so far and keeps the best of
them; all networks have as many trials. Then the plan and what was found are run on every shape, with other seeds, with
few voxels in a step and with the default number, and at a higher resolution where `--fine` names shapes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.data.shapes import open_shape
from paper.protocols.published import with_arguments
from paper.runner.options import count
from staf._files import atomic_write
from staf._tables import mean

if TYPE_CHECKING:
    from staf.kinds import Shape

MODELS = ("staf", "siren", "finer")


@dataclass(frozen=True)
class Settings:
    """Of a fit: a learning rate, the band of the first sines and arguments of the network.

    `band` has the slowest and the fastest of the first sines in radians per unit. What is not given is the plan's.
    """

    rate: float | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    band: tuple[float, float] | None = None

    def replaced(
        self, rate: float | None = None, band: tuple[float, float] | None = None, **arguments: Any
    ) -> Settings:
        return Settings(rate or self.rate, {**self.arguments, **arguments}, band or self.band)

    def with_band(self, factor: float) -> Settings:
        """The same with a band of other ends, or where there is none with another omega0."""
        if self.band is None:
            return self.replaced(omega0=factor * float(self.arguments["omega0"]))
        return self.replaced(band=(factor * self.band[0], factor * self.band[1]))


@dataclass(frozen=True)
class Length:
    """What a fit is of: steps, and voxels in each; the plan's number of voxels if None."""

    steps: int
    batch: int | None


Stage = Callable[[str, Settings, float], list[Settings]]

# FINER's first sines are those of omega0 (2 |b| + 1) |w| with biases b up to 5: from 10 to 106 radians.
BANDS = ((6.0, 60.0), (6.0, 90.0), (6.0, 130.0), (10.0, 106.0))
BIASES = (2.0, 3.5, 7.5, 10.0)


def first_band(model: str, best: Settings, omega0: float) -> list[Settings]:
    """Four widths of the first band: of FINER by its biases, of the others by their first weights."""
    if model == "finer":
        return [best.replaced(first_bias=bias) for bias in BIASES]
    return [best.replaced(band=band) for band in BANDS]


def finer_band(model: str, best: Settings, omega0: float) -> list[Settings]:
    """Two bands near the best one."""
    with_omega0 = best.replaced(omega0=best.arguments.get("omega0", omega0))
    if model != "finer":
        return [with_omega0.with_band(factor) for factor in (0.75, 1.33)]
    bias = float(best.arguments.get("first_bias", 5.0))
    return [with_omega0.replaced(first_bias=factor * bias) for factor in (0.75, 1.33)]


def own_constants(model: str, best: Settings, omega0: float) -> list[Settings]:
    """Two trials of what one network alone has; of the others, which have nothing else, two more of omega0."""
    hidden, first = best.arguments.get("hidden_omega0", 30.0), best.arguments.get("omega0", omega0)
    changes: dict[str, list[dict[str, Any]]] = {
        "staf": [{"extra_amplitude": 0.02}, {"extra_amplitude": 0.4}],
        "siren": [{"hidden_omega0": 0.8 * hidden}, {"hidden_omega0": 1.25 * hidden}],
        "finer": [{"omega0": 0.8 * first}, {"omega0": 1.25 * first}],
    }
    return [best.replaced(**change) for change in changes[model]]


# A stage has the network, the best settings so far, and the plan's omega0.
STAGES: dict[str, Stage] = {
    "rate": lambda model, best, omega0: [best.replaced(rate=rate) for rate in (1.25e-4, 2.5e-4, 5e-4, 1.5e-3, 3e-3)],
    "band": first_band,
    "omega0": lambda model, best, omega0: [best.replaced(omega0=factor * omega0) for factor in (0.5, 1.5, 2.0)],
    "band, finer": finer_band,
    "hidden omega0": lambda model, best, omega0: [best.replaced(hidden_omega0=value) for value in (20.0, 45.0)],
    "rate, finer": lambda model, best, omega0: [
        best.replaced(rate=factor * best.rate) for factor in (0.7, 1.4) if best.rate
    ],
    "own": own_constants,
}


class Search:
    """Fits and their log; `deadline` is when no other fit is begun."""

    def __init__(
        self,
        device: str,
        out: Path | None,
        seconds: float,
        width: int | None = None,
        stages: Sequence[str] = tuple(STAGES),
    ) -> None:
        self.device, self.out, self.width, self.stages = device, out, width, stages
        self.deadline = time.monotonic() + seconds
        self.rows: list[dict[str, Any]] = []

    @property
    def over(self) -> bool:
        return time.monotonic() > self.deadline

    def fit(self, part: str, model: str, path: str, length: Length, settings: Settings, seed: int = 0) -> float:
        """IoU of the final weights over all voxels; -1 where time is over."""
        from staf.nn.networks import NETWORKS
        from staf.planning import Budget, plan
        from staf.training import run

        if self.over:
            return -1.0
        shape = open_shape(path, _resolution(path))
        chosen = plan(shape, Budget(steps=length.steps), device="cuda", model=model)
        arguments = {**settings.arguments, **({} if self.width is None else {"width": self.width})}
        chosen = with_arguments(chosen, **arguments) if arguments else chosen
        changes: dict[str, Any] = {} if length.batch is None else {"batch": length.batch}
        if settings.rate is not None:
            changes |= {"rate": settings.rate, "matrix_rate": settings.rate}
        recipe = chosen.recipe.replace(**changes)
        task = voxel_task(shape, recipe.convention).to(self.device)
        network = chosen.field(seed)
        if settings.band is not None:
            NETWORKS[model].first_layer.spread(network, *settings.band)
        started = time.monotonic()
        done = run(task, network.to(self.device), recipe, seed=seed, progress=False)
        row = {
            "part": part, "network": model, "shape": Path(path).stem, "voxels": _resolution(path),
            "iou": round(done.metrics["iou"], 6), "seconds": round(time.monotonic() - started, 2), "seed": seed,
            "steps": length.steps, "batch": recipe.batch, "rate": recipe.rate, "arguments": arguments,
            "band": settings.band,
            "settings": "found" if settings != Settings() else "plan",
        }  # fmt: skip
        self.rows.append(row)
        print(json.dumps(row), flush=True)
        if self.out is not None:
            atomic_write(self.out, json.dumps(self.rows, indent=1) + "\n")
        return float(done.metrics["iou"])

    def best(self, model: str, path: str, length: Length, seeds: Sequence[int] = (0,)) -> Settings:
        """The best settings of a network by the stages, on one shape, by the mean over the seeds."""
        from staf.planning import plan

        fresh = plan(open_shape(path, _resolution(path)), device="cuda", model=model).field(0)
        architecture: Any = fresh.architecture
        omega0 = float(architecture["arguments"]["omega0"])
        best, top = Settings(), -1.0
        for name in self.stages:
            stage = STAGES[name]
            tried = [
                (mean([self.fit(f"search: {name}", model, path, length, s, seed) for seed in seeds]), s)
                for s in stage(model, best, omega0)
            ]
            highest, settings = max(tried, key=lambda item: item[0], default=(-1.0, best))
            if highest > top:
                best, top = settings, highest
        return best


def voxel_task(shape: Shape, convention: Any) -> Any:
    """`Occupancy` that measures IoU over all voxels where its bits are, without a surface."""
    import torch

    from staf.kinds.shape.task import Occupancy

    class Voxels(Occupancy):
        def evaluate(self, predict: Any) -> dict[str, float]:
            both = either = 0
            count = math.prod(self.signal.shape)
            for start in range(0, count, 2**20):
                index = torch.arange(start, min(start + 2**20, count), device=self.bits.device)
                inside = ((self.bits[index >> 3] >> (7 - (index & 7)).to(torch.uint8)) & 1).bool()
                found = predict(self.coordinates(index))[:, 0] > 0.5
                both += int((found & inside).sum())
                either += int((found | inside).sum())
            return {"iou": both / max(1, either)}

    return Voxels(shape, convention)


def read_settings(text: str, models: Sequence[str]) -> dict[str, Settings]:
    """Settings by network, as `main` prints them; a network that is not among them has its plan's.

    >>> read_settings('{"staf": {"rate": 0.001, "band": [2, 90]}}', ["staf", "siren"])["staf"].band
    (2, 90)
    """
    documents = json.loads(text)
    found = {model: Settings(**documents.get(model, {})) for model in models}
    return {model: dataclasses.replace(s, band=s.band and (s.band[0], s.band[1])) for model, s in found.items()}


def _resolution(path: str) -> int:
    """The voxels that a packed shape has, which its folder is named after."""
    return int(Path(path).parent.name)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m paper.searches.shape_search", description=__doc__)
    parser.add_argument("shape", help="the shape of the search: VOXELS/NAME.npz, as `paper.data.shapes.pack` writes it")
    parser.add_argument("--check", nargs="+", default=[], metavar="PATH", help="other shapes")
    parser.add_argument("--fine", nargs="+", default=[], metavar="PATH", help="shapes of more voxels")
    parser.add_argument("--steps", type=count, default=500, metavar="N")
    parser.add_argument("--batch", type=count, default=50_000, metavar="N", help="voxels of a step of the search")
    parser.add_argument(
        "--long-steps", type=int, default=600, metavar="N", help="steps with the default batch; 0: no such fits"
    )
    parser.add_argument("--fine-steps", type=count, default=2000, metavar="N")
    parser.add_argument("--seconds", type=float, default=600.0, metavar="S", help="begin nothing after so long")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=tuple(STAGES), metavar="NAME")
    parser.add_argument("--settings", type=Path, default=None, help="JSON as printed at a search's end, in its place")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="of every trial of the search")
    parser.add_argument("--width", type=count, default=None, metavar="N")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(argv)
    search = Search(options.device, options.out, options.seconds, options.width, options.stages)
    short = Length(options.steps, options.batch)
    if options.settings is None:
        found = {model: search.best(model, options.shape, short, options.seeds) for model in options.models}
    else:
        found = read_settings(options.settings.read_text("utf-8"), options.models)
    print(json.dumps({model: dataclasses.asdict(settings) for model, settings in found.items()}), flush=True)
    both = [(model, settings) for model in options.models for settings in (found[model], Settings())]
    long, fine = Length(options.long_steps, None), Length(options.fine_steps, None)
    checks = [("short", path, short, seed) for path in options.check for seed in (1, 2)]
    checks += [("long", path, long, 1) for path in [*options.check, options.shape] if options.long_steps]
    checks += [("fine", path, fine, 1) for path in options.fine]
    for part, path, length, seed in checks:
        for model, settings in both:
            search.fit(part, model, path, length, settings, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
