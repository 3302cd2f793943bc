"""When do trainable sines beat one frozen sine, a trainable Omega, or more width? Equal optimiser, search and seeds.

    python -m paper do-sines-help --images kodak256 --recording gt_bach.wav --shapes bunny.ply lucy.ply \\
        --faces celeba --scene nerf_synthetic/lego

Each kind of data that is given makes its parts of the tables. The first signal of each kind is for the search alone.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from paper.data.folder import write_quick_data
from paper.data.images import named_paths
from paper.data.sources import image_sources, open_source
from paper.report.output import save_figure, write_tables
from paper.runner.experiment import Context, Data, Outcome
from paper.runner.options import add_seeds
from paper.runner.result import RunResult
from paper.sines.arms import ARMS
from paper.sines.code_arms import CODE_ARMS, LENGTH
from paper.sines.figure import figure, questions_of
from paper.sines.merged import merged
from paper.sines.parts import OMEGA0, PARTS, Given, data_of
from paper.sines.tables import tables
from paper.study.study import Study

NAME = "do-sines-help"
FACTORS = (1 / 8, 1 / 4, 1 / 2, 2.0, 4.0, 8.0)
# Codes have arms of their own.
ALL_PARTS = (*PARTS, *OMEGA0, "codes")
# Parts in which a frozen sine also gets the training time of trained ones; in others where `--slower` is given.
TIMED = ("pictures", "scenes")


@dataclass(frozen=True)
class SinesRun:
    """One arm on one part: all signals and seeds of it, its search included."""

    part: str
    arm: str
    seeds: tuple[int, ...]
    width: int
    steps: int
    size: float
    factor: float = 1.0
    optimiser: str = "soap"
    rates: tuple[float, ...] = ()
    batch: int | None = None
    first_order: bool = False
    code: int = LENGTH
    slower: float | None = None
    step_factors: tuple[float, ...] | None = None
    code_rates: tuple[float, ...] | None = None
    code_batch: tuple[int, int] | None = None
    omega_rate: float | None = None


@dataclass(frozen=True)
class Sines:
    """The experiment, and the data that is given for it."""

    given: Given = field(default_factory=Given)

    name = NAME
    version = 1
    protocol = (
        "networks of 4 layers that differ in their sines or width alone, same optimiser and schedule; learning rate "
        "searched for each arm among the same values on the first signal of its kind, whose result is not counted; "
        "then every seed on every other signal; measures of the final weights, one fresh pass, clamped, peak 1"
    )

    def label(self, configuration: SinesRun) -> str:
        c = configuration
        code = f" of {c.code} seeds {'-'.join(map(str, c.seeds))}" if c.part == "codes" else ""
        faster = f" Omega's rate x{c.omega_rate:g}" if c.omega_rate is not None else ""
        return f"{c.part} {c.arm}{code}{faster}" + (f" omega0 x{c.factor:g}" if c.factor != 1 else "")

    def data(self, configuration: SinesRun) -> Data:
        return data_of(configuration.part, self.given, configuration.size)

    def run(self, configuration: SinesRun, context: Context) -> Outcome:
        if configuration.part == "codes":
            return self._codes(configuration, context.device)
        return self._fits(configuration, context.device)

    def _codes(self, c: SinesRun, device: str) -> Outcome:
        from paper.sines.code_arms import BATCH, CODE_RATES, META_RATES, PIXELS, STEP_FACTORS, run_codes, small_faces

        faces = small_faces([open_source(s, name).array for name, s in self.given.faces.items()], round(c.size))
        batch, pixels = c.code_batch or (BATCH, PIXELS)
        metrics, details = run_codes(
            c.arm, faces, width=c.width, steps=c.steps, seeds=c.seeds, device=device, first_order=c.first_order,
            length=c.code, rates=c.rates or META_RATES, step_factors=c.step_factors or STEP_FACTORS,
            code_rates=c.code_rates or CODE_RATES, batch=batch, pixels=pixels,
        )  # fmt: skip
        return Outcome(metrics, details=details)

    def _fits(self, c: SinesRun, device: str) -> Outcome:
        from paper.sines.fits import RATES, fit_arm

        problem = PARTS[OMEGA0.get(c.part, c.part)].problem(self.given, c)
        found = fit_arm(
            problem, ARMS[c.arm], width=c.width, steps=c.steps, seeds=c.seeds, device=device, optimiser=c.optimiser,
            rates=c.rates or RATES, slower=c.slower, omega_rate=c.omega_rate,
        )  # fmt: skip
        details: dict[str, Any] = {
            "values": found.values, "measures": found.measures, "rate": found.rate, "search": found.search,
            "steps": found.steps, "parameters": found.parameters, "constants": problem.constants, "width": found.width,
        }  # fmt: skip
        if c.part == "pictures":
            details["quantised"] = _quantised(found, problem, len(c.seeds), c.steps, device)
        return Outcome({problem.measure: found.mean}, details=details)


def _quantised(found: Any, problem: Any, seeds: int, steps: int, device: str) -> dict[str, Any]:
    """PSNR by bits, of every picture and seed, before and after the float parameters are trained on."""
    from paper.sines.quantised import BITS, REFINED, psnr_of, quantised, refined, stored_bytes

    fields = found.networks
    tasks = [task for task in problem.tasks[1:] or problem.tasks for _ in range(seeds)]
    rows = {}
    for bits in BITS:
        rough = [quantised(field, bits) for field in fields]
        before = psnr_of(rough, tasks, device)
        better = [refined(f, task, min(steps, REFINED), device) for f, task in zip(rough, tasks, strict=True)]
        after = psnr_of(better, tasks, device)
        rows[str(bits)] = {"bytes": stored_bytes(fields[0], bits), "rounded": before, "refined": after}
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--images", nargs="+", default=[], metavar="PATH", help="pictures; the first is for the search")
    parser.add_argument("--pick", nargs="+", default=[], metavar="N", help="pictures by place or name (default: all)")
    parser.add_argument("--recording", default="", metavar="PATH", help="of which 4 pieces are fitted")
    parser.add_argument("--rate", type=int, default=44100, metavar="HZ", help="of a recording saved by numpy")
    parser.add_argument("--shapes", nargs="+", default=[], metavar="PATH", help="meshes, or voxels as .npz")
    parser.add_argument("--faces", nargs="+", default=[], metavar="PATH", help="pictures for the codes; at least 5")
    parser.add_argument("--scene", default="", metavar="PATH", help="a folder of posed photos, or .npz")
    parser.add_argument("--parts", nargs="+", default=list(ALL_PARTS), choices=ALL_PARTS, metavar="PART")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="ARM")
    parser.add_argument("--codes", nargs="+", default=list(CODE_ARMS), choices=list(CODE_ARMS), metavar="CODE")
    add_seeds(parser, (0, 1, 2, 3, 4))
    parser.add_argument("--width", type=int, default=64, metavar="N")
    parser.add_argument("--steps", type=int, default=500, metavar="N")
    parser.add_argument("--meta-steps", type=int, default=1500, metavar="N", help="steps that learn the codes' network")
    parser.add_argument("--side", type=int, default=96, metavar="N", help="pixels of a picture's side")
    parser.add_argument("--face-side", type=int, default=32, metavar="N")
    parser.add_argument(
        "--code-length",
        type=int,
        default=LENGTH,
        metavar="N",
        help="numbers that are a picture's code; a multiple of 12",
    )
    parser.add_argument(
        "--step-factors", nargs="+", type=float, default=None, metavar="X", help="of the codes' first steps, searched"
    )
    parser.add_argument(
        "--code-rates", nargs="+", type=float, default=None, metavar="R", help="of the steps that fit a code, searched"
    )
    parser.add_argument(
        "--code-batch",
        nargs=2,
        type=int,
        default=None,
        metavar=("N", "P"),
        help="a step learns P pixels of N faces",
    )
    parser.add_argument(
        "--slower",
        type=float,
        metavar="X",
        help="steps of the longer arm, as a multiple (default: by measured times; in pictures and scenes alone)",
    )
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of a piece of the recording")
    parser.add_argument("--resolution", type=int, default=64, metavar="N", help="voxels of the longest side")
    parser.add_argument("--points", type=int, default=256, metavar="N", help="of an equation")
    parser.add_argument("--scene-side", type=int, default=100, metavar="N", help="pixels of a photo's side")
    parser.add_argument("--batch", type=int, default=2**14, metavar="N", help="voxels of a step, or samples of rays")
    parser.add_argument("--first-order", action="store_true", help="learn the codes' network by first-order gradients")
    parser.add_argument("--rates", nargs="+", type=float, default=[], metavar="R", help="searched (default: four)")
    parser.add_argument(
        "--factors", nargs="+", type=float, default=list(FACTORS), metavar="X", help="of the first omega0"
    )
    parser.add_argument(
        "--omega-rate", type=float, metavar="X", help="of a trained Omega, as a multiple of the rate (default: ours)"
    )
    parser.add_argument("--optimiser", default="soap", choices=["soap", "muon", "adam"], help="of full batches")


def sweep(arguments: argparse.Namespace) -> tuple[Sines, list[SinesRun]]:
    """The experiment and a run for each arm of each part whose data is given."""
    a = arguments
    if a.quick:
        _fill_quick(a)
    images = image_sources(a.images, a.pick) if a.images else {}
    faces = image_sources(a.faces) if a.faces else {}
    if faces and len(faces) < 5:
        raise ValueError(f"--faces must be at least 5 pictures, got {len(faces)}")
    if a.code_length % 12:
        raise ValueError(f"--code-length must be a multiple of 12, got {a.code_length}")
    given = Given(images, str(a.recording), a.rate, named_paths(a.shapes), faces, str(a.scene))
    seeds, rates = tuple(a.seeds), tuple(a.rates)
    runs = []
    for name in a.parts:
        if name == "codes":
            size = (a.width, a.meta_steps, a.face_side)
            searched = [tuple(values) if values else None for values in (a.step_factors, a.code_rates)]
            same: dict[str, Any] = {"first_order": a.first_order, "code": a.code_length, "rates": rates}
            same |= {"step_factors": searched[0], "code_rates": searched[1]}
            same |= {"code_batch": (a.code_batch[0], a.code_batch[1]) if a.code_batch else None}
            runs += [SinesRun(name, arm, seeds, *size, **same) for arm in a.codes if faces]
            continue
        part = PARTS[OMEGA0.get(name, name)]
        timed = name in TIMED or a.slower is not None
        arms = [arm for arm in a.arms if timed or not ARMS[arm].timed_as]
        for arm, factor in itertools.product(arms, a.factors if name in OMEGA0 else (1.0,)):
            size, batch = getattr(a, part.size), a.batch if part.optimiser else None
            own = (seeds, a.width, a.steps, size, factor, part.optimiser or a.optimiser, rates, batch)
            slower = a.slower if ARMS[arm].timed_as else None
            # A frozen sine has no Omega that is trained.
            omega_rate = None if ARMS[arm].model == "siren" else a.omega_rate
            runs += [SinesRun(name, arm, *own, slower=slower, omega_rate=omega_rate)] if part.given(given) else []
    if not runs:
        raise ValueError("give the data of at least one of --parts: --images, --recording, --shapes, --faces, --scene")
    return Sines(given), runs


def _fill_quick(arguments: argparse.Namespace) -> None:
    """Small data of every kind."""
    folder = Path(arguments.folder) / "data"
    made = {option: write_quick_data(folder, option) for option in ("recording", "shapes", "scenes")}
    arguments.recording, arguments.rate = str(made["recording"] / "tone.npy"), 8000
    arguments.shapes = [str(made["shapes"] / "octahedron.npz")]
    arguments.scene = str(made["scenes"] / "ball.npz")
    faces = folder / "faces.npy"
    np.save(faces, np.random.default_rng(0).integers(0, 256, (5, 4, 4, 3), np.uint8))
    arguments.faces = [str(faces)]


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The tables as Markdown and the differences as PNG."""
    picture = figure(questions_of(merged(results)))
    return [write_tables(NAME, results, tables(results), folder), save_figure(picture, folder / f"{NAME}.png")]


STUDY = Study(
    NAME,
    (__doc__ or "").splitlines()[0],
    "images",
    {
        "seeds": [0, 1], "width": 6, "steps": 2, "meta_steps": 1, "side": 8, "face_side": 4, "seconds": 0.02,
        "resolution": 12, "points": 256, "scene_side": 10, "batch": 512, "rates": [1e-3],
        "factors": [4.0], "arms": ["frozen sine", "5 sines a neuron"], "images": [],
        "codes": ["shifts (COIN++)", "sines of layers"],
    },
    add_arguments,
    sweep,
    tables,
    draw,
    "pictures, a recording, shapes, faces, a scene: those that are given are used; tones and equations are made",
    "pictures, recordings, shapes, omega0 and codes: 4 min on an H200; the other parts were not timed there",
    data_by_part=True,
)  # fmt: skip
