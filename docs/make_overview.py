"""Draw docs/img/overview.jpg from the demonstration's run folder: `make demo && python docs/make_overview.py`."""

from __future__ import annotations

import json
from pathlib import Path

import staf
from staf.figures.comparison import busiest_box
from staf.figures.error_map import ceiling, pixel_error
from staf.figures.palette import ERROR_MAP
from staf.figures.style import bare, new_figure

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    run = ROOT / "demo"
    photo, field = staf.open(run / "photo.png"), staf.load(run / "model.safetensors")
    psnr = json.loads((run / "metrics.json").read_text())["psnr"]
    fitted = field.render()
    error = pixel_error(photo.array, fitted.array)
    rows, columns = busiest_box(error, share=0.2)
    close = field.render(crop=(columns.start, rows.start, columns.stop, rows.stop), scale=8)
    panels = (
        (photo.array, "photo, 256x256"),
        (fitted.array, f"fitted, {psnr:.1f} dB"),
        (photo.array[rows, columns], "photo, close up"),
        (close.array, "fitted, rendered at 8x"),
    )
    figure = new_figure(12.5, 2.75)
    axes = figure.subplots(1, 5)
    for place, (picture, title) in zip(axes, panels, strict=False):
        place.imshow(picture, interpolation="nearest")
        place.set_title(title, fontsize=10)
    axes[4].imshow(error, cmap=ERROR_MAP, vmin=0, vmax=ceiling(error))
    axes[4].set_title(f"error, 0 to {ceiling(error):.2f}", fontsize=10)
    for place in axes:
        bare(place)
    figure.savefig(ROOT / "docs" / "img" / "overview.jpg", dpi=110, pil_kwargs={"quality": 88})


if __name__ == "__main__":
    main()
