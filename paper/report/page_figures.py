"""The figures of docs/results from the result folders of a run: `python -m paper.report.page_figures RESULTS MESHES`.

RESULTS holds the folders audio, shapes, super-resolution and denoising; MESHES has armadillo.ply, bunny.ply and
lucy.ply.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.runner import RunResult, load_results

IMAGES = Path(__file__).parents[2] / "docs" / "results" / "img"
AUDIO = [("siren", "ours"), ("ffn", "ours"), ("staf", "ours"), ("finer", "paper"), ("staf", "released")]
SHAPES = [("finer", "ours"), ("incode", "ours"), ("staf", "ours"), ("siren", "ours"), ("finer", "paper")]
RESTORED = {
    "super-resolution": [("staf", "ours"), ("ffn", "ours"), ("pemlp", "ours"), ("Lanczos", "ours"),
                         ("pemlp", "paper"), ("staf", "released")],
    "denoising": [("staf", "ours"), ("ffn", "ours"), ("pemlp", "ours"), ("total variation", "ours"),
                  ("incode", "paper"), ("staf", "released")],
}  # fmt: skip
PICTURE = "kodim23"


def chosen(results: Sequence[RunResult], keys: Sequence[tuple[str, str]], **where: Any) -> list[RunResult]:
    """The runs of these networks and protocols, in this order, whose configuration says `where`."""
    found = {
        (r.configuration["model"], r.configuration["protocol"]): r
        for r in results
        if all(r.configuration[name] == value for name, value in where.items())
    }
    return [found[key] for key in keys if key in found]


def title(result: RunResult, measure: str) -> str:
    name, protocol = str(result.configuration["model"]), str(result.configuration["protocol"])
    return f"{name}\n{measure}" if name[0].isupper() or " " in name else f"{name}, {protocol}\n{measure}"


def save(figure: Any, name: str, dpi: int = 80) -> None:
    figure.savefig(IMAGES / name, dpi=dpi, pil_kwargs={"quality": 85, "optimize": True})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("meshes", type=Path)
    arguments = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)

    from paper.experiments.audio import figure

    save(figure(chosen(load_results(arguments.results / "audio", "audio"), AUDIO)), "audio.jpg")

    from staf.figures.restoration import restoration_comparison

    for name, keys in RESTORED.items():
        runs = chosen(load_results(arguments.results / name, name), keys, image=PICTURE, seed=0)
        pictures = {title(r, f"{r.metrics['psnr']:.2f} dB"): r.arrays()["restored"] / 255 for r in runs}
        seen = runs[0].arrays()
        save(restoration_comparison(seen["truth"] / 255, seen["observed"] / 255, pictures), f"{name}.jpg")

    from paper.data.shapes import open_shape
    from paper.measures.shape_surfaces import mesh_of
    from staf.kinds.shape.figure import Viewpoint, shape_comparison

    results = load_results(arguments.results / "shapes", "shapes")
    views = {"armadillo": Viewpoint(azimuth=160), "bunny": Viewpoint(azimuth=0), "lucy": Viewpoint(azimuth=0, up="z")}
    for name, view in views.items():
        shape = open_shape(str(arguments.meshes / f"{name}.ply"), 256)
        columns = {}
        for run in chosen(results, SHAPES, shape=name):
            mesh = mesh_of(run.arrays(), shape)
            if mesh is not None:
                columns[title(run, f"IoU {run.metrics['iou']:.4f}")] = shape.with_mesh(mesh)
        save(shape_comparison(shape, columns, view=view, pixels=300), f"{name}.jpg")


if __name__ == "__main__":
    main()
