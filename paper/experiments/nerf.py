"""Scenes without positional encoding (Table "NeRF"): five Blender scenes, PSNR and LPIPS of held-out views.

    python -m paper nerf --scenes lego/ --protocols ours paper --models staf siren

A scene is a folder of posed photos, or the `.npz` that `python -m paper.data.scenes` writes. Protocols: `paper`, as its
authors describe it; `ours`, the same networks by our plan; `grid`, a hash grid with small decoders of each activation,
by our plan; `finer`, that of FINER's authors, 25 photos of 200x200 and wider networks, which has a table of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paper.data.scenes import open_scene
from paper.measures.perceptual import perceptual_distance
from paper.report.output import save_figure, write_tables
from paper.report.protocol_table import protocol_table, published_means
from paper.report.scene_views import figure
from paper.runner.experiment import Context, Data, Outcome, outcome_of
from paper.runner.options import add_protocols, add_seeds, count
from paper.runner.result import RunResult
from staf._tables import Table
from staf.comparison.result_file import array_hash

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene
    from staf.planning import Plan

NAME = "nerf"
DATA = "scenes"
QUICK = {"steps": 2, "rays": 64, "ray_samples": 24, "models": ["staf"]}
PROTOCOLS = ("ours", "grid", "paper", "finer")
MODELS = ("staf", "siren", "finer", "wire", "gauss", "pemlp")
MEASURES = {"psnr": ("PSNR (dB)", 2), "ssim": ("SSIM", 4), "lpips": ("LPIPS", 3)}
NEEDS = "the Blender scenes lego, drums, chair, hotdog and ship at 400x400 (`python -m paper.data.scenes` packs them)"
TIME = "37,500 steps of 4,096 rays: 2 min for each network and scene on an H200"
STEPS, RAYS = 37_500, 4096
# torch-ngp scales these scenes by 0.8 into [-1, 1]^3.
HALF = 1 / 0.8
# The paper states STAF's and FINER's rate. For the others it names INCODE's, without numbers: they have STAF's here.
RATES = {"staf": 3e-4, "finer": 5e-4}
USUAL_RATE = 3e-4
# The paper's constants where those of our plans are others.
CONSTANTS: Mapping[str, Mapping[str, float]] = {"wire": {"omega0": 40.0, "sigma": 40.0}, "gauss": {"sigma": 40.0}}
# FINER's authors: photos, pixels a side, neurons of a layer.
FINER_PHOTOS, FINER_SIDE, FINER_WIDTH = 25, 200, 182
PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    scene: {model: {"psnr": psnr, "lpips": lpips} for model, (psnr, lpips) in row.items()}
    for scene, row in {
        "lego": {
            "pemlp": (25.96, 0.127), "gauss": (25.15, 0.143), "siren": (26.27, 0.159), "wire": (25.31, 0.150),
            "finer": (26.62, 0.152), "staf": (26.74, 0.107),
        },
        "drums": {
            "pemlp": (22.26, 0.147), "gauss": (22.05, 0.167), "siren": (22.94, 0.168), "wire": (21.89, 0.165),
            "finer": (23.21, 0.175), "staf": (23.24, 0.156),
        },
        "chair": {
            "pemlp": (28.49, 0.084), "gauss": (28.87, 0.087), "siren": (29.71, 0.087), "wire": (28.63, 0.088),
            "finer": (29.93, 0.087), "staf": (30.17, 0.084),
        },
        "hotdog": {
            "pemlp": (31.96, 0.053), "gauss": (32.39, 0.056), "siren": (32.85, 0.058), "wire": (32.14, 0.061),
            "finer": (33.64, 0.058), "staf": (33.29, 0.058),
        },
        "ship": {
            "pemlp": (25.65, 0.217), "gauss": (25.07, 0.222), "siren": (26.00, 0.220), "wire": (25.77, 0.225),
            "finer": (26.20, 0.229), "staf": (26.28, 0.206),
        },
    }.items()
}  # fmt: skip


@dataclass(frozen=True)
class SceneRun:
    """One network on one scene; `steps`, `seconds` and `rays` replace those of the protocol."""

    scene: str
    model: str
    protocol: str = "ours"
    seed: int = 0
    steps: int | None = None
    seconds: float | None = None
    rays: int | None = None
    ray_samples: int = 1024


@dataclass(frozen=True)
class Scenes:
    """The experiment; `scenes` maps the names in configurations to folders or files."""

    scenes: Mapping[str, str]

    name = NAME
    version = 1
    protocol = (
        "photos on white; PSNR, SSIM and LPIPS of the final weights, means over all held-out views, each rendered "
        "whole and clamped, peak 1; paper: two perceptrons of 3 layers of 128, Adam x 0.1^(t/T), 37,500 steps of 4,096 "
        "rays, scene scaled by 0.8; ours and grid: default plans; finer: 25 photos of 200x200, layers of 182"
    )

    def label(self, configuration: SceneRun) -> str:
        c = configuration
        return f"{c.scene} {c.model} {c.protocol} seed {c.seed}"

    def data(self, configuration: SceneRun) -> Data:
        train = open_scene(self.scenes[configuration.scene]).train
        return Data(configuration.scene, array_hash(train.pixels.numpy()))

    def run(self, configuration: SceneRun, context: Context) -> Outcome:
        scene = prepared(open_scene(self.scenes[configuration.scene]), configuration)
        plan = plan_of(scene, configuration, context.device.split(":")[0])
        fit = context.fit(scene, plan=plan, seed=configuration.seed)
        shown, photos = np.asarray(fit.reconstruction), photos_of(scene)
        middle = len(shown) // 2
        details = {"reasons": list(plan.reasons.values()), "views": len(shown)}
        outcome = outcome_of(fit, details=details, arrays={"shown": shown[middle], "photo": photos[middle]})
        distances = [perceptual(one, other, context.device) for one, other in zip(shown, photos, strict=True)]
        means = {name: float(np.mean([row[name] for row in distances])) for name in distances[0]}
        return dataclasses.replace(outcome, metrics={**outcome.metrics, **means})


def photos_of(scene: Scene) -> np.ndarray:
    """The photos that measures are of, on the background, as bytes (v, h, w, 3)."""
    import torch

    from staf.kinds.scene.rendering import on_background
    from staf.kinds.scene.view import measured_views

    colours = on_background(measured_views(scene).pixels, torch.tensor(scene.background))
    return (colours * 255).round().to(torch.uint8).numpy()


def perceptual(shown: np.ndarray, photo: np.ndarray, device: str) -> dict[str, float]:
    """LPIPS of a rendered view, where there are weights."""
    import torch

    return perceptual_distance(*(torch.from_numpy(part).to(device).float() / 255 for part in (shown, photo)))


def prepared(scene: Scene, configuration: SceneRun) -> Scene:
    """The scene as a protocol sees it."""
    network = "grid" if configuration.protocol == "grid" else "mlp"
    published = configuration.protocol in ("paper", "finer")
    half = HALF if published else None
    scene = scene.changed(network=network, half=half, ray_samples=configuration.ray_samples)  # type: ignore[arg-type]
    if configuration.protocol != "finer":
        return scene
    factor = max(1, scene.shape[1] // FINER_SIDE)
    test = None if scene.test is None else scene.test.smaller(factor)
    return scene.with_photos(scene.train.first(FINER_PHOTOS).smaller(factor), test)


def plan_of(scene: Scene, configuration: SceneRun, device: str) -> Plan:
    """The plan of a run's network under its protocol, with the configuration's budget and rays."""
    from paper.protocols.published import with_arguments
    from staf.planning import Budget, plan
    from staf.training import Recipe
    from staf.training.schedules import Exponential

    c = configuration
    chosen = plan(scene, Budget(steps=c.steps, seconds=c.seconds), device=device, model=c.model)
    if c.protocol in ("paper", "finer"):
        steps = STEPS if c.steps is None and c.seconds is None else c.steps
        recipe = Recipe(
            steps=steps,
            seconds=c.seconds,
            batch=min(RAYS, scene.points),
            rate=RATES.get(c.model, USUAL_RATE),
            schedule=Exponential(0.1),
            precision="tf32",
        )
        reasons = {"network": chosen.reasons["network"], "recipe": f"as in the {c.protocol} protocol"}
        chosen = dataclasses.replace(chosen, recipe=recipe, reasons=reasons)
        chosen = with_arguments(chosen, **CONSTANTS.get(c.model, {}))
    if c.protocol == "finer":
        chosen = with_arguments(chosen, width=FINER_WIDTH, features=FINER_WIDTH)
    if c.rays is None:
        return chosen
    return dataclasses.replace(chosen, recipe=chosen.recipe.replace(batch=min(c.rays, scene.points)))


def tables(results: Sequence[RunResult]) -> list[Table]:
    """A table for each scene, after one of means where there are several; all with the paper's numbers."""
    compared = of_the_paper(results)
    names = list(dict.fromkeys(str(result.configuration["scene"]) for result in compared))
    title = f"Means of {len(names)} scenes, held-out views"
    means = protocol_table(title, compared, MEASURES, published_means(PUBLISHED, [scene_of(name) for name in names]))
    return [*([means] if len(names) > 1 else []), *scene_tables(results)]


def scene_tables(results: Sequence[RunResult]) -> list[Table]:
    """A table for each scene, with the paper's numbers beside it, and one for FINER's protocol."""
    tables = []
    for name in dict.fromkeys(str(result.configuration["scene"]) for result in results):
        here = [result for result in results if result.configuration["scene"] == name]
        published = PUBLISHED.get(scene_of(name), {})
        if of_the_paper(here):
            tables.append(protocol_table(f"{name}, held-out views", of_the_paper(here), MEASURES, published))
        if of_finer(here):
            tables.append(protocol_table(f"{name}, 25 photos of 200x200", of_finer(here), MEASURES, {}))
    return tables


def scene_of(name: str) -> str:
    """The paper's scene that the words of a folder's name contain, or the name itself.

    >>> [scene_of(name) for name in ("lego", "nerf_lego400", "Ship-400", "relationship")]
    ['lego', 'lego', 'ship', 'relationship']
    """
    words = re.findall("[a-z]+", name.lower())
    return next((scene for scene in PUBLISHED if scene in words), name)


def of_the_paper(results: Sequence[RunResult]) -> list[RunResult]:
    """Those that the paper's numbers can stand beside."""
    return [result for result in results if result.configuration["protocol"] != "finer"]


def of_finer(results: Sequence[RunResult]) -> list[RunResult]:
    """Those by the protocol of FINER's authors."""
    return [result for result in results if result.configuration["protocol"] == "finer"]


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The tables as Markdown and the views as PNG, from the results alone."""
    written = write_tables(NAME, results, tables(results), folder)
    return [written, save_figure(figure(results), folder / f"{NAME}.png", dpi=130)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--scenes", nargs="+", default=[], metavar="PATH", help="folders of posed photos, or .npz")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="NAME", help="networks")
    add_protocols(parser, PROTOCOLS, ("ours", "paper"))
    add_seeds(parser)
    parser.add_argument("--steps", type=count, default=None, metavar="N", help="steps of each fit")
    parser.add_argument("--seconds", type=float, default=None, metavar="S", help="seconds of each fit")
    parser.add_argument("--rays", type=count, default=None, metavar="N", help="rays of each step")
    parser.add_argument("--ray-samples", type=count, default=1024, metavar="N", help="places along the box's diagonal")


def sweep(arguments: argparse.Namespace) -> tuple[Scenes, list[SceneRun]]:
    """The experiment and its configurations from the options."""
    scenes: dict[str, str] = {}
    for path in map(str, arguments.scenes):
        name = Path(path).stem
        if name in scenes:
            raise ValueError(f"--scenes must differ in name, got {scenes[name]!r} and {path!r}")
        scenes[name] = path
    products = itertools.product(scenes, arguments.models, arguments.protocols, arguments.seeds)
    budget = (arguments.steps, arguments.seconds, arguments.rays, arguments.ray_samples)
    runs = [SceneRun(scene, model, protocol, seed, *budget) for scene, model, protocol, seed in products]
    return Scenes(scenes), runs
