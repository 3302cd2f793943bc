"""The figures of docs/results from the result folders of a run: `python -m paper.report.page_figures RESULTS MESHES`.

RESULTS holds a folder for each experiment, as `python -m paper rows` leaves them; MESHES has armadillo.ply, bunny.ply
and lucy.ply.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.__main__ import load
from paper.report.surfaces import PIXELS, VIEWS
from paper.runner import RunResult, load_results

IMAGES = Path(__file__).parents[2] / "docs" / "results" / "img"
AUDIO = [("siren", "ours"), ("ffn", "ours"), ("staf", "ours"), ("finer", "paper"), ("staf", "released")]
SHAPES = [("staf", "ours"), ("siren", "ours"), ("finer", "ours")]
RESTORED = {
    "super-resolution": [("staf", "ours"), ("ffn", "ours"), ("pemlp", "ours"), ("Lanczos", "ours"),
                         ("pemlp", "paper"), ("staf", "released")],
    "denoising": [("staf", "ours"), ("ffn", "ours"), ("pemlp", "ours"), ("total variation", "ours"),
                  ("incode", "paper"), ("staf", "released")],
}  # fmt: skip
PICTURE = "kodim23"
# Studies whose figures are plots, all studies with figures on the pages, and the colours of a plot.
PLOTS = ("image-curves", "sharing-ablation", "component-ablation", "matched-parameters", "hash-grid", "dynamics")
STUDIES = (*PLOTS, "activation-maps", "nerf", "tokyo")
COLOURS = 64


def chosen(results: Sequence[RunResult], keys: Sequence[tuple[str, str]], **where: Any) -> list[RunResult]:
    """The runs of these networks and protocols, in this order, whose configuration says `where`; none if one lacks."""
    found = {
        (r.configuration["model"], r.configuration["protocol"]): r
        for r in results
        if all(r.configuration[name] == value for name, value in where.items())
    }
    return [found[key] for key in keys] if all(key in found for key in keys) else []


def title(result: RunResult, measure: str) -> str:
    name, protocol = str(result.configuration["model"]), str(result.configuration["protocol"])
    return f"{name}\n{measure}" if name[0].isupper() or " " in name else f"{name}, {protocol}\n{measure}"


def save(figure: Any, name: str, dpi: int = 80) -> None:
    figure.savefig(IMAGES / name, dpi=dpi, pil_kwargs={"quality": 85, "optimize": True})


def audio_figure(folder: Path) -> None:
    from paper.experiments.audio import figure

    if runs := chosen(load_results(folder / "audio", "audio"), AUDIO):
        save(figure(runs), "audio.jpg")


def restored_figures(folder: Path) -> None:
    from staf.figures.restoration import restoration_comparison

    for name, keys in RESTORED.items():
        runs = chosen(load_results(folder / name, name), keys, image=PICTURE, seed=0)
        if not runs:
            continue
        pictures = {title(r, f"{r.metrics['psnr']:.2f} dB"): r.arrays()["restored"] / 255 for r in runs}
        seen = runs[0].arrays()
        save(restoration_comparison(seen["truth"] / 255, seen["observed"] / 255, pictures), f"{name}.jpg")


def shape_figures(folder: Path, meshes: Path) -> None:
    from paper.data.shapes import open_shape
    from paper.measures.shape_surfaces import mesh_of
    from staf.kinds.shape.figure import Viewpoint, shape_comparison

    results = load_results(folder / "shapes", "shapes")
    for name, view in VIEWS.items():
        runs = chosen(results, SHAPES, shape=name, resolution=256, seed=0, steps=500)
        if not runs:
            continue
        shape = open_shape(str(meshes / f"{name}.ply"), 256)
        columns = {}
        for run in runs:
            mesh = mesh_of(run.arrays(), shape)
            if mesh is not None:
                columns[title(run, f"IoU {run.metrics['iou']:.4f}")] = shape.with_mesh(mesh)
        save(shape_comparison(shape, columns, view=Viewpoint(**view), pixels=PIXELS), f"{name}.jpg")


def study_figures(folder: Path) -> None:
    """The figures of the studies that have results, photographs as JPEG and plots with few colours."""
    from PIL import Image

    for name in STUDIES:
        results = load_results(folder / name, name)
        if not results:
            continue
        for path in load(name).draw(results, folder / name):
            if path.suffix == ".png" and path.stem in PLOTS:
                Image.open(path).convert("RGB").quantize(COLOURS).save(IMAGES / path.name, optimize=True)
            elif path.suffix == ".png":
                Image.open(path).convert("RGB").save(IMAGES / f"{path.stem}.jpg", quality=80, optimize=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Draw what there are results of; the pictures of everything else stay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("meshes", type=Path)
    arguments = parser.parse_args(argv)
    IMAGES.mkdir(exist_ok=True)
    audio_figure(arguments.results)
    restored_figures(arguments.results)
    shape_figures(arguments.results, arguments.meshes)
    study_figures(arguments.results)


if __name__ == "__main__":
    main()
