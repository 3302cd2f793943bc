"""Draw pictures of how-to pages: `python docs/make_pictures.py [restoration] [video] [distance] [equation]`.

Each takes about a minute.

The photograph is NASA's (public domain), from scikit-image's collection.
"""

from __future__ import annotations

import sys
from pathlib import Path

import make_gallery
import numpy as np
import torch
from matplotlib.figure import Figure

import staf
from staf.figures.error_map import ceiling
from staf.figures.palette import ERROR_MAP
from staf.figures.restoration import restoration_comparison
from staf.figures.style import bare, new_figure
from staf.kinds import sample_photo
from staf.kinds.shape.figure import Viewpoint, shape_picture
from staf.kinds.video.plan import PIXELS_PER_FRAME
from staf.nn.networks import NETWORKS
from staf.operators import Mask
from staf.tasks import SuperResolution
from staf.tasks.classical import measured, upscaled
from staf.tasks.equations import Helmholtz
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.learned_enlarging import enlarged_by_network
from staf.tasks.picture_restoration import PictureRestoration, random_mask

FOLDER = Path(__file__).parent / "img"


def video() -> Figure:
    """A camera that moves over a photograph, half a pixel or so in each frame: two of 8 frames, and what is between."""
    photo = sample_photo("astronaut").array.astype(np.float32)
    corners = [(20 + 2 * number, 120 + 3 * number) for number in range(8)]
    parts = [photo[top : top + 192, left : left + 256] for top, left in corners]
    frames = np.stack([part.reshape(48, 4, 64, 4, 3).mean((1, 3)).round().astype(np.uint8) for part in parts])
    clip = staf.Video(frames, rate=10)
    # The first layer of the default plan, and a smaller network behind it.
    first = {name: value for name, value in staf.plan(clip).field_factory.arguments.items() if name == "omega0"}
    field = staf.staf(3, 3, width=96, depth=3, **first, generator=torch.Generator().manual_seed(0))
    NETWORKS["staf"].first_layer.slow_down(field, axis=0, ratio=PIXELS_PER_FRAME * 8 / 64)
    fit = staf.fit(clip, field, staf.recipes.default(steps=250, batch=4096).replace(rate=2e-3, matrix_rate=2e-3))
    panels = {"frame 3": clip.frame(3).array}
    for number in (3.0, 3.5):
        panels[f"field at {number / clip.rate:g} s, 4x"] = fit.render(at=number / clip.rate, scale=4).frame(0).array
    panels["frame 4"] = clip.frame(4).array
    figure = new_figure(10, 2.2)
    sys.stdout.write(f"video: {fit.metrics['psnr']:.1f} dB\n")
    for axes, (title, picture) in zip(figure.subplots(1, 4), panels.items(), strict=True):
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize=10)
        bare(axes)
    return figure


def distance() -> Figure:
    """The gallery's knot: points on it, the surface of the field, and a slice of the distance."""
    fit = make_gallery.shape()
    cloud = make_gallery.knot()
    side, points = cloud.frame.half, cloud.coordinates("centres")
    at = torch.linspace(-1, 1, 200)
    y, x = torch.meshgrid(at, at, indexing="ij")
    values = fit.field(torch.stack([x.flatten(), y.flatten(), torch.zeros(x.numel())], 1)).detach().reshape(200, 200)
    figure = new_figure(9, 3.1)
    left, middle, right = figure.subplots(1, 3)
    left.scatter(points[::8, 0], points[::8, 1], c=points[::8, 2], s=1, cmap="viridis")
    left.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    middle.imshow(shape_picture(fit.render(resolution=160).mesh, view=Viewpoint(azimuth=0, elevation=0)))
    right.contourf(x, y, values, levels=side * np.linspace(-0.6, 0.6, 25), cmap="RdBu_r", extend="both")
    right.contour(x, y, values, levels=[0.0], colors="black", linewidths=1.5)
    right.set_aspect("equal")
    for axes, title in zip((left, middle, right), ("points", "surface", "distance, cut at z = 0"), strict=True):
        axes.set_title(title, fontsize=10)
        bare(axes)
    return figure


def equation() -> Figure:
    """The first example of the page, with a larger network and more steps."""
    problem = Helmholtz(5.0, source=0.0, boundary=lambda x: torch.sin(4 * x[:, 0]) * torch.cos(3 * x[:, 1]))
    solution = problem.reference()
    problem.solution = solution
    field = staf.siren(2, 1, width=32, depth=2, omega0=5.0, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(problem, field=field, steps=400)
    (low, high), _ = problem.box
    at = torch.linspace(low, high, 120)
    points = torch.cartesian_prod(at, at)
    exact = solution(points).detach().reshape(120, 120).numpy()
    found = problem.solved(fit.field)(points).detach().reshape(120, 120).numpy()
    error = np.abs(found - exact)
    figure = new_figure(9, 2.9)
    places = figure.subplots(1, 3)
    most = np.abs(exact).max()
    for axes, values, title in zip(places, (exact, found), ("classical solver", "fitted"), strict=False):
        shown = axes.imshow(values.T, origin="lower", cmap="RdBu_r", vmin=-most, vmax=most)
        axes.set_title(title, fontsize=10)
        figure.colorbar(shown, ax=axes, shrink=0.8)
    shown = places[2].imshow(error.T, origin="lower", cmap=ERROR_MAP, vmin=0, vmax=ceiling(error))
    places[2].set_title(f"error; relative error {fit.metrics['relative_error']:.1e}", fontsize=10)
    figure.colorbar(shown, ax=places[2], shrink=0.8)
    for axes in places:
        bare(axes)
    return figure


def restoration() -> Figure:
    """A fifth of a photo's pixels, and what the methods without a fit make of them."""
    photo = sample_photo("astronaut").array[:256, 96:352].astype(np.float32)
    picture = staf.Image(photo.reshape(128, 2, 128, 2, 3).mean((1, 3)).round().astype(np.uint8))
    generator = torch.Generator().manual_seed(0)
    mask = Mask(random_mask(picture.shape, 0.2, generator))
    task = PictureRestoration.simulated(picture, mask, generator=generator)
    found = inverse_candidates(task, ["biharmonic", "learned filling", "patch groups"])
    seen = mask.A_adjoint(task.observation).movedim(0, -1).numpy()
    shown = {
        f"{name}  {measured(task, part.values)['psnr']:.2f} dB": part.values.reshape(128, 128, 3).numpy()
        for name, part in found.items()
    }
    return restoration_comparison(picture.array / 255, seen, shown, (slice(32, 80), slice(40, 88)))


def enlarging() -> Figure:
    """A photo seen at a quarter of its side, and what the methods without a fit make of it."""
    photo = sample_photo("astronaut").array[:256, 96:352].astype(np.float32)
    picture = staf.Image(photo.reshape(128, 2, 128, 2, 3).mean((1, 3)).round().astype(np.uint8))
    task = SuperResolution.simulated(picture, 4)
    found = {**upscaled(task), "learned enlarging": enlarged_by_network(task.observation, 4).flatten(1).T.clamp(0, 1)}
    seen = task.observation.repeat_interleave(4, 1).repeat_interleave(4, 2).movedim(0, -1).numpy()
    shown = {
        f"{name}  {measured(task, values)['psnr']:.2f} dB": values.reshape(128, 128, 3).numpy()
        for name, values in found.items()
    }
    return restoration_comparison(picture.array / 255, seen, shown, (slice(32, 80), slice(40, 88)))


NAMES = {
    "restoration": (restoration, "restoration.jpg"),
    "enlarging": (enlarging, "enlarging.jpg"),
    "video": (video, "video.jpg"),
    "distance": (distance, "distance.jpg"),
    "equation": (equation, "equation.jpg"),
}


def main(wanted: list[str]) -> None:
    for name in wanted or NAMES:
        draw, file = NAMES[name]
        draw().savefig(FOLDER / file, dpi=90, pil_kwargs={"quality": 85})


if __name__ == "__main__":
    main(sys.argv[1:])
