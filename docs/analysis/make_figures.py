"""Draw the figures of docs/analysis into docs/analysis/img, and print the numbers that the pages quote.

Run `python docs/analysis/make_figures.py [NAME ...]`. The picture is scikit-image's, the sound is synthetic.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

import PIL.Image

from staf.analysis.registry import RESULTS
from staf.figures.analysis import draw

FOLDER = Path(__file__).parent / "img"


def save(figure: Any, path: Path) -> None:
    """A PNG of 256 colours, chosen so that the lines keep theirs: a third of the bytes."""
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=75)
    PIL.Image.open(page).convert("RGB").quantize(
        256, PIL.Image.Quantize.MAXCOVERAGE, dither=PIL.Image.Dither.NONE
    ).save(path, optimize=True)


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or RESULTS:
        start = time.perf_counter()
        result = RESULTS[name].run(None, 0)
        save(draw(name, result.data), FOLDER / f"{name}.png")
        sys.stdout.write(f"{result.text()}\n  ({name}: {time.perf_counter() - start:.0f} s)\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
