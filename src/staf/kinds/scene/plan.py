"""What scenes change of the rules of planning: networks of density and colour, batches of rays, their rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from staf._messages import counted
from staf.nn.networks import NETWORKS, SCENE_NETWORKS
from staf.nn.networks.spec import Settings
from staf.planning import recipes
from staf.planning.rules import OPTIMISER_ENTRIES, muon
from staf.planning.situation import Choice, Rule, Situation

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene

# Rays of one step. Those whose samples do not fit into the step's samples have no weight in it, so that there are as
# many as fit at the start, when every cell is looked at, and all of them later.
RAYS = {"cpu": 2**11, "cuda": 2**14}
# Adam's rate for the tables of hash grids, as published.
TABLE_RATE = 1e-2
# How strongly tables are drawn to zero in the many steps of a GPU. Views of lego's validation split, 800x800, 62 s on
# an H200: 36.2 dB with 1e-8 and 35.7 dB with 1e-7 (benchmarks/results/scene-decay-h200-2026-11-19.json); photos that
# were left out, 400x400, 8 to 9 s: 34.8 dB without decay and with 1e-7, 33.4 dB with 1e-6. A small scene lost 0.5 dB in
# 400 steps of a CPU by 1e-7 and by coarser cells.
TABLE_DECAY = {"cpu": 0.0, "cuda": 1e-8}
# The largest grid on a GPU is the published one. A CPU looks fewer features up, in a table that stays in its cache.
GRID = {
    "cpu": {"log2_entries": 15, "levels": 8, "finest": 256},
    "cuda": {"log2_entries": 19, "levels": 16, "finest": 2048},
}
# Cells of the finest level along the side of a pixel, at least; of lego's photos that were left out, 1024 cells show
# 34.8 dB after 9 s, and 2048 cells 34.5 dB; after 15 s they show 35.7 dB, and 512 cells 35.5 dB.
CELLS_PER_PIXEL, LEAST_CELLS = 2.0, 128
# A long fit on a GPU has four rays for each pixel or, where samples of a ray are farther apart than pixels, four times
# the pixels in a step; it is long from this many seconds per pixel of the photos on. Views of lego's validation
# split, H200: at 400x400, 34 s, four rays show 36.6 dB and more pixels 36.3 dB; at 800x800, 55 s, four rays show
# 35.3 dB, more pixels 36.0 dB and neither 35.5 dB (docs/results/scenes-evidence.md).
LONG_SECONDS = {"rays": 2e-6, "pixels": 8e-7}
MORE_PIXELS = 4
# Samples along the diagonal of the box, at most and at least. One for each pixel's side are enough; for photos of
# 400x400 these are the paper's 1,024. A CPU gets further with few: of lego's photos at 100x100 that were left out it
# shows 21.7 dB after 30 s with 256 samples, and 18.7 dB with 1,024 (docs/results/scenes-evidence.md).
MOST_SAMPLES, LEAST_SAMPLES = {"cpu": 256, "cuda": 1024}, 64
# Steps of a fit whose budget leaves them open, by network and device.
STEPS = {"radiance_grid": {"cpu": 1000, "cuda": 10_000}, "radiance": {"cpu": 1000, "cuda": 20_000}}


def rules(network: str) -> dict[str, Rule | None]:
    """The rules for scenes that are fitted with a hash `grid`, or with two perceptrons alone (`mlp`)."""
    return GRID_RULES if network == "grid" else MLP_RULES


def grid_network(s: Situation) -> Choice:
    """A hash grid and two small perceptrons of the model's layers."""
    size = dict(GRID[_device(s)])
    if not s.on_cpu:
        size["finest"] = min(size["finest"], finest_cells(s.signal))
    settings = _settings(s, "radiance_grid")
    reason = (
        f"a hash grid of {size['levels']} levels up to {size['finest']} cells a side, and perceptrons of {s.spec.name} "
        "layers for density and colour: the best quality for the time"
    )
    return Choice(reason, arguments={**settings.constants, **size}, spec=SCENE_NETWORKS["radiance_grid"])


def finest_cells(scene: Scene) -> int:
    """Cells along the box, a power of two, of which a pixel that looks at its centre covers two to four."""
    return max(LEAST_CELLS, 2 ** math.ceil(math.log2(CELLS_PER_PIXEL * pixels_across(scene))))


def pixels_across(scene: Scene) -> float:
    """Pixels along a side of the box, as most cameras see it."""
    cameras = scene.in_box(scene.train.cameras)
    # Cameras in the box look at its other side.
    return float((2 * cameras.focal.amax(-1) / cameras.positions.norm(dim=-1).clamp(min=1)).median())


def mlp_network(s: Situation) -> Choice:
    """The paper's two perceptrons of the model's layers."""
    settings = _settings(s, "radiance")
    reason = f"two perceptrons of 3 {s.spec.name} layers of 128, for density and for colour, as the paper has them"
    return Choice(reason, arguments=settings.constants, spec=SCENE_NETWORKS["radiance"])


def grid_optimiser(s: Situation) -> Choice:
    """Adam alone: small perceptrons have one hidden matrix or none."""
    ours = recipes.default()
    entries = {name: getattr(ours, name) for name in OPTIMISER_ENTRIES} | {"optimiser": "adam"}
    return Choice("Adam on the grid and on the perceptrons", recipe=entries)


def grid_rate(s: Situation) -> Choice:
    """Rates of the perceptrons and of the table."""
    rate = _settings(s, "radiance_grid").rate
    reason = f"learning rates of {rate:g} for the {s.spec.name} layers and {TABLE_RATE:g} for the grid"
    entries = {"rate": rate, "matrix_rate": rate, "table_rate": TABLE_RATE, "table_decay": TABLE_DECAY[_device(s)]}
    return Choice(reason, recipe=entries)


def mlp_rate(s: Situation) -> Choice:
    """One rate for Adam and for the matrices."""
    rate = _settings(s, "radiance").rate
    reason = f"learning rates of {rate:g} for the {s.spec.name} layers"
    return Choice(reason, recipe={"rate": rate, "matrix_rate": rate})


def precision(s: Situation) -> Choice:
    """The precision of matrix products, which is float32 on a CPU in any case."""
    if s.spec.complex_weights:
        # With omega0 and sigma0 40 values are off by 4% in tf32, and gradients by 10% (docs/kernels-evidence.md).
        reason = "" if s.on_cpu else "products in split bfloat16: wavelets make the errors of tf32 larger"
        return Choice(reason, recipe={"precision": "bf16x3"})
    reason = "" if s.on_cpu else "products in tf32: pictures of a scene are far from its limit, near 50 dB"
    return Choice(reason, recipe={"precision": "tf32"})


def batch(s: Situation) -> Choice:
    """How many pixels a step sees."""
    pixels, why = RAYS[_device(s)], ""
    if s.signal.network == "grid" and _more_for(s) == "pixels":
        pixels, why = MORE_PIXELS * pixels, _because_long(s)
    pixels = min(pixels, s.points)
    reason = f"steps of up to {counted(pixels, 'pixel')}, whose rays go through the cells that hold matter{why}"
    return Choice(reason, recipe={"batch": pixels})


def rays(s: Situation) -> Choice:
    """How many rays go through a pixel."""
    given = s.signal.subpixels
    if given is not None:
        return Choice(f"pixels are the mean of {counted(given**2, 'ray')}, as asked")
    if _more_for(s) != "rays":
        return Choice("one ray through the centre of each pixel")
    return Choice(f"pixels are the mean of 4 rays{_because_long(s)}", recipe={"subpixels": 2})


def _more_for(s: Situation) -> str | None:
    """What a long fit has more of: `rays` of a pixel or `pixels` of a step; None where it is not long."""
    if s.on_cpu or s.budget.seconds is None or (s.signal.subpixels or 1) > 1:
        return None
    wanted, count = _samples_along(s)
    more = "rays" if count >= wanted else "pixels"
    return more if s.budget.seconds >= LONG_SECONDS[more] * s.points else None


def _because_long(s: Situation) -> str:
    return f", because {s.budget.seconds:g} seconds are long for {counted(s.points, 'pixel')}"


def samples(s: Situation) -> Choice:
    """At how many places a ray is sampled."""
    wanted, count = _samples_along(s)
    if s.signal.ray_samples is not None:
        return Choice(f"rays are sampled at {count:,} places along the diagonal of the box, as asked")
    why = "one or more for each pixel" if count >= wanted else "the most on this device"
    reason = f"rays are sampled at {count:,} places along the diagonal of the box: {why}"
    return Choice(reason, recipe={"ray_samples": count})


def _samples_along(s: Situation) -> tuple[int, int]:
    """Places along the diagonal of the box of which each pixel has one or more, and those that a ray is sampled at."""
    wanted = 2 ** math.ceil(math.log2(math.sqrt(3) * pixels_across(s.signal)))
    return wanted, s.signal.ray_samples or max(LEAST_SAMPLES, min(wanted, MOST_SAMPLES[_device(s)]))


def budget(s: Situation) -> Choice:
    """What ends the fit."""
    from staf.planning.rules import budget as usual

    if s.budget.steps is not None or s.budget.seconds is not None:
        return usual(s)
    network = s["network"].spec
    assert network is not None
    steps = STEPS[network.name][_device(s)]
    return Choice(f"no budget was given: {counted(steps, 'step')}, the default on this device", recipe={"steps": steps})


def target(s: Situation) -> Choice:
    """The quality at which the fit may end early, which held-out views have no part in."""
    from staf.kinds.scene.task import MEASURED

    wanted = s.budget.target_db
    views = min(MEASURED, len(s.signal.train))
    over = f"{counted(views, 'photo')} of those that are fitted"
    reason = "" if wanted is None else f"the fit ends early at {wanted:g} dB, confirmed over {over}"
    return Choice(reason, recipe={"target_db": wanted})


def _device(s: Situation) -> str:
    return "cpu" if s.on_cpu else "cuda"


def _settings(s: Situation, network: str) -> Settings:
    if network not in s.spec.scene:
        known = ", ".join(name for name, spec in NETWORKS.items() if network in spec.scene)
        raise ValueError(f"scenes are fitted with layers of one of {known}, got model {s.spec.name!r}")
    return s.spec.scene[network]


# Constants of the layers come with the network; a spectrum of photos says nothing about a scene.
_COMMON: dict[str, Rule | None] = {
    "constants": None,
    "first_frequency": None,
    "batch": batch,
    "budget": budget,
    "precision": precision,
    "samples": samples,
    "target": target,
    # Photos share what they show: their pixels say nothing about the size of a scene.
    "size": None,
}
GRID_RULES: dict[str, Rule | None] = {
    **_COMMON,
    "network": grid_network,
    "optimiser": grid_optimiser,
    "rate": grid_rate,
    "rays": rays,
}
MLP_RULES: dict[str, Rule | None] = {**_COMMON, "network": mlp_network, "optimiser": muon, "rate": mlp_rate}
