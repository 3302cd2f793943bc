"""Occupancy of shapes with every network, by the paper's protocol and by ours: IoU, Chamfer, normal consistency.

    python -m paper shapes --shapes armadillo.ply lucy.ply --resolution 256 --steps 500 --batch 100000

A shape is a mesh file, or the `.npz` that `paper.data.shapes.pack` writes, for machines without mesh libraries; the
surfaces of fits to the latter are measured afterwards by `paper.measures.shape_surfaces`. Surfaces are drawn where mesh
libraries are installed.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.data.images import named_paths
from paper.data.shapes import open_shape, packed_arrays
from paper.protocols.published import MODELS, PROTOCOLS, paper_plan
from paper.report.output import save_figure, write_tables
from paper.report.protocol_table import protocol_table, published_means
from paper.report.surfaces import VOXELS, scan_of, surface_figures
from paper.runner.experiment import Context, Data, Outcome, outcome_of
from paper.runner.options import add_models, add_protocols, add_seeds, count
from paper.runner.result import RunResult
from staf._tables import Table
from staf.comparison.result_file import array_hash

if TYPE_CHECKING:
    from staf.kinds import Shape
    from staf.planning import Plan

NAME = "shapes"
DATA = "shapes"
QUICK = {"steps": 3, "batch": 500, "resolution": 12, "models": ["staf", "siren"]}
MEASURES = {"iou": ("IoU", 4), "chamfer": ("Chamfer", 2), "normal_consistency": ("normal consistency", 4)}
SCIENTIFIC = ("chamfer",)
OBSERVED = 64
# The paper's table, at 512^3 and 200 epochs; it states neither the unit of its Chamfer distances nor their points.
PUBLISHED = {
    "armadillo": {
        "staf": {"iou": 0.9972, "chamfer": 3.51e-07},
        "finer": {"iou": 0.9965, "chamfer": 3.57e-07},
        "incode": {"iou": 0.9964, "chamfer": 3.54e-07},
        "siren": {"iou": 0.9962, "chamfer": 3.62e-07},
        "pemlp": {"iou": 0.9958, "chamfer": 3.7e-07},
        "wire": {"iou": 0.9721, "chamfer": 6.54e-06},
    },
    "lucy": {
        "staf": {"iou": 0.9971, "chamfer": 1.39e-06},
        "finer": {"iou": 0.9962, "chamfer": 1.49e-06},
        "incode": {"iou": 0.9946, "chamfer": 1.6e-06},
        "siren": {"iou": 0.9892, "chamfer": 2.19e-06},
        "pemlp": {"iou": 0.9920, "chamfer": 1.8e-06},
        "wire": {"iou": 0.9554, "chamfer": 2.06e-05},
    },
    "dragon": {
        "staf": {"iou": 0.9973, "chamfer": 2.55e-07},
        "siren": {"iou": 0.9971, "chamfer": 2.60e-07},
        "incode": {"iou": 0.9969, "chamfer": 2.65e-07},
        "pemlp": {"iou": 0.9966, "chamfer": 2.73e-07},
        "finer": {"iou": 0.9958, "chamfer": 3.06e-07},
        "wire": {"iou": 0.9749, "chamfer": 4.46e-06},
    },
    "thai": {
        "staf": {"iou": 0.9935, "chamfer": 9.20e-07},
        "siren": {"iou": 0.9929, "chamfer": 9.59e-07},
        "incode": {"iou": 0.9924, "chamfer": 1.42e-06},
        "finer": {"iou": 0.9923, "chamfer": 1.15e-06},
        "pemlp": {"iou": 0.9911, "chamfer": 2.05e-06},
        "wire": {"iou": 0.9507, "chamfer": 1.55e-05},
    },
}
NEEDS = "meshes of the Armadillo, Dragon, Lucy and the Thai statue (`python -m paper.data.datasets stanford`)"
TIME = "200 epochs at 512^3: 6 networks x 4 shapes x 15 min on an H200; --resolution 256 --steps 500 in seconds"


@dataclass(frozen=True)
class ShapeRun:
    """One network on one shape; `steps` and `batch` replace those of the protocol."""

    shape: str
    model: str
    protocol: str = "ours"
    resolution: int = 256
    seed: int = 0
    steps: int | None = None
    batch: int | None = None


@dataclass(frozen=True)
class Shapes:
    """The experiment; `shapes` maps the names in configurations to files."""

    shapes: Mapping[str, str]

    name = NAME
    version = 2
    protocol = (
        "occupancy of the voxels, mean squared error; IoU of the final weights over all voxels, one fresh pass at 1/2; "
        "Chamfer and normal consistency of the marching-cubes surface at the voxels' resolution and the mesh, 100,000 "
        "points each, longest side 2; ours: default plan, cell centres; paper and released: Adam 2.5e-4 x 0.36^(t/T), "
        "samples at the ends; steps and batch as configured"
    )

    def label(self, configuration: ShapeRun) -> str:
        c = configuration
        return f"{c.shape} {c.resolution} {c.model} {c.protocol} {c.steps or 'all'} steps seed {c.seed}"

    def data(self, configuration: ShapeRun) -> Data:
        shape = open_shape(self.shapes[configuration.shape], configuration.resolution)
        return Data(configuration.shape, array_hash(np.append(shape.volume.bits, np.array(shape.shape, "<i8"))))

    def run(self, configuration: ShapeRun, context: Context) -> Outcome:
        from paper.measures.shape_surfaces import kept_surface, measured

        path = self.shapes[configuration.shape]
        shape = open_shape(path, configuration.resolution)
        plan = plan_of(shape, configuration, context.device.split(":")[0])
        task = voxel_task(shape, plan.recipe.convention)
        fit = context.fit(task, plan=plan, seed=configuration.seed)
        kept = kept_surface(task.values)
        metrics = dict(fit.metrics) if path.endswith(".npz") else {**fit.metrics, **measured(kept, shape)}
        details = {"reasons": list(plan.reasons.values()), "grid": list(shape.shape)}
        name = f"{VOXELS}{self.data(configuration).sha256[:12]}"
        shared = (context.share(name, packed_arrays(shape)),) if kept else ()
        outcome = outcome_of(fit, points=math.prod(shape.shape), details=details, arrays=kept, shared=shared)
        return dataclasses.replace(outcome, metrics=metrics)


def voxel_task(shape: Shape, convention: Any) -> Any:
    """`Occupancy` that measures the voxels alone and keeps the field's values (a, b, c) as `values`.

    INCODE's harmoniser, a 3D ResNet that every step runs through, reads the shape at no more than 64 voxels a side.
    """
    import torch

    from staf.kinds.shape.rendering import field_planes
    from staf.kinds.shape.task import Occupancy

    class VoxelOccupancy(Occupancy):
        values: np.ndarray

        @property
        def observation(self) -> torch.Tensor:
            return torch.from_numpy(self.signal.volume.pooled(OBSERVED))[None].to(self.bits.device)

        def evaluate(self, predict: Any) -> dict[str, float]:
            there = self.bits.device
            planes = field_planes(lambda x: predict(x.to(there)), shape.frame, shape.shape, self.convention)
            self.values = np.stack([np.clip(plane, 0, 1) for plane in planes])
            inside, found = shape.volume.array(), self.values > 0.5
            error = np.square(self.values - inside, dtype=np.float64).mean()
            union = np.count_nonzero(inside | found)
            return {
                "iou": float(np.count_nonzero(inside & found) / union),
                "psnr": float(-10 * np.log10(max(error, 1e-30))),
            }

    return VoxelOccupancy(shape, convention)


def plan_of(shape: Shape, configuration: ShapeRun, device: str) -> Plan:
    """The plan of a run's network under its protocol, with the configuration's steps and batch."""
    from staf.planning import Budget, plan

    c = configuration
    if c.protocol == "ours":
        chosen = plan(shape, Budget(steps=c.steps), device=device, model=c.model)
    else:
        chosen = paper_plan(shape, c.model, "shape", released=c.protocol == "released")
    changes = {name: value for name, value in (("steps", c.steps), ("batch", c.batch)) if value is not None}
    return dataclasses.replace(chosen, recipe=chosen.recipe.replace(**changes)) if changes else chosen


def tables(results: Sequence[RunResult]) -> list[Table]:
    """For each resolution a table for each shape, after one of means where there are several; with the paper's numbers.

    Results of different resolutions are not averaged.
    """
    found = []
    for resolution in sorted({resolution_of(result) for result in results}):
        here = [result for result in results if resolution_of(result) == resolution]
        names = names_of(here)
        means = protocol_table(
            f"Means of {len(names)} shapes at {resolution} voxels, final weights",
            here,
            MEASURES,
            published_means(PUBLISHED, [scan_of(name) for name in names]),
            by="iou",
            scientific=SCIENTIFIC,
        )
        found += [*([means] if len(names) > 1 else []), *shape_tables(here).values()]
    return found


def resolution_of(result: RunResult) -> int:
    """Voxels along the longest side."""
    return int(result.configuration["resolution"])


def names_of(results: Sequence[RunResult]) -> list[str]:
    """The shapes of results, in their order."""
    return list(dict.fromkeys(str(result.configuration["shape"]) for result in results))


def shape_tables(results: Sequence[RunResult]) -> dict[str, Table]:
    """A table for each shape, of results of one resolution, with the paper's numbers beside it (512 voxels)."""
    found = {}
    for name in names_of(results):
        here = [result for result in results if result.configuration["shape"] == name]
        title = f"{name} at {resolution_of(here[0])} voxels, final weights"
        published = PUBLISHED.get(scan_of(name), {})
        found[name] = protocol_table(title, here, MEASURES, published, by="iou", scientific=SCIENTIFIC)
    return found


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The tables as Markdown, and the surfaces of each shape as PNG, from the results alone."""
    written = [write_tables(NAME, results, tables(results), folder)]
    for name, figure in surface_figures(results):
        written.append(save_figure(figure, folder / f"{NAME}-{name}.png", dpi=100))
    return written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--shapes", nargs="+", default=[], metavar="PATH", help="mesh files, or voxels as .npz")
    parser.add_argument("--resolution", type=count, default=256, metavar="N", help="voxels along the longest side")
    add_models(parser, MODELS)
    add_protocols(parser, PROTOCOLS, ("ours", "paper"))
    add_seeds(parser)
    parser.add_argument("--steps", type=count, default=None, metavar="N", help="steps of each fit")
    parser.add_argument("--batch", type=count, default=None, metavar="N", help="voxels of each step")


def sweep(arguments: argparse.Namespace) -> tuple[Shapes, list[ShapeRun]]:
    """The experiment and its configurations from the options."""
    shapes = named_paths(arguments.shapes)
    products = itertools.product(shapes, arguments.models, arguments.protocols, arguments.seeds)
    runs = [
        ShapeRun(shape, model, protocol, arguments.resolution, seed, arguments.steps, arguments.batch)
        for shape, model, protocol, seed in products
    ]
    example = open_shape(next(iter(shapes.values())), arguments.resolution)
    for run in runs:
        plan_of(example, run, "cpu")
    return Shapes(shapes), runs
