"""Draw every figure of these pages into img/: `python docs/theory/make_figures.py`."""

from __future__ import annotations

from pathlib import Path

from staf.figures.theory import draw
from staf.theory.registry import RESULTS


def main() -> None:
    folder = Path(__file__).parent / "img"
    folder.mkdir(exist_ok=True)
    for name, entry in RESULTS.items():
        draw(name, entry.run(None, 0).data).savefig(folder / f"{name}.png", dpi=90)


if __name__ == "__main__":
    main()
