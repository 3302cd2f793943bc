"""`staf clone TARGET SOURCE --mask FILE`: part of a picture in another one, without a seam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.inverse import solve
from staf.cli.options import Flag
from staf.cli.outputs import default_folder
from staf.cli.restoration import METRICS, MODEL, REPORT, InverseOptions, check_held_out, started
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    import numpy as np

    from staf.kinds import Image

PASTED = "pasted.png"


@dataclass(frozen=True, kw_only=True)
class Clone(InverseOptions):
    """Clone a part of an image into another without a visible seam.

    The result has the gradients of SOURCE where the mask is white, and the pixels of TARGET around it. The folder
    (runs/NAME-clone unless --out names another) gets cloned.png, pasted.png (a plain paste, for comparison),
    model.safetensors, metrics.json and report.html. cloned.png comes from the fitted field if that predicts held-out
    differences clearly better than the exact least-squares solution, otherwise from this solution; the command says
    which.
    """

    file: Annotated[Positional[Path], arg(metavar="TARGET")]
    """The image to change."""
    source: Annotated[Positional[Path], arg(metavar="SOURCE")]
    """The image to clone from."""
    mask: Annotated[Path, arg(metavar="FILE")]
    """An image of the size of SOURCE, white where SOURCE is cloned."""
    at: Annotated[str, arg(metavar="X,Y")] = "0,0"
    """Position of the upper left corner of SOURCE in TARGET, in pixels."""
    mixed: Flag = False
    """Keep the gradients of TARGET where they are larger, e.g. for writing on a textured wall."""
    held_out: Annotated[float, arg(metavar="X")] = 0.05
    """The share of differences that is held out of the fit, to choose when to stop and which result to return."""


def options_for(words: Sequence[str]) -> type[object]:
    return Clone


def run(options: Clone, terminal: Terminal) -> int:
    """Fit the gradients, write what they show."""
    check_held_out(options.held_out)
    import numpy as np
    import torch

    from staf.kinds import Image
    from staf.tasks.gradient_domain import SeamlessCloning

    target, source, mask = _image(options.file), _image(options.source), _image(options.mask)
    if target.out_features != source.out_features:
        raise UserError(
            f"both pictures must have the same number of channels, got {target.out_features} in {options.file} and "
            f"{source.out_features} in {options.source}: convert one of them"
        )
    if mask.shape != source.shape:
        raise UserError(f"--mask must have SOURCE's {_size(source)} pixels, got {_size(mask)}")
    white = mask.values()[:, : min(3, mask.out_features)].mean(-1).reshape(mask.shape).numpy() > 0.5
    column, row = _corner(options.at)
    inside = placed(np.zeros(target.shape, bool), white, row, column)
    if not inside.any():
        where = f"lies outside of {options.file} at --at {options.at}" if white.any() else "is nowhere in it"
        raise UserError(f"--mask is white where SOURCE is taken from, and white {where}")
    numbers = target.values().reshape(*target.shape, -1).numpy()
    moved = placed(numbers, source.values().reshape(*source.shape, -1).numpy(), row, column)
    name = "cloned.tiff" if target.dtype.kind == "f" else "cloned.png"
    start = started(
        options, default_folder(options.file.stem, "clone"), 64 * target.array.nbytes, [name, MODEL, METRICS, REPORT]
    )
    generator = torch.Generator().manual_seed(start.seed)
    moved_in = target.from_values(torch.from_numpy(moved).reshape(-1, target.out_features))
    with edge():
        task = SeamlessCloning(
            target,
            moved_in,
            torch.from_numpy(inside),
            mixed=options.mixed,
            held_out=options.held_out,
            generator=generator,
        )
    about: Document = {"verb": "clone", "file": str(options.file), "source": str(options.source)}
    done = solve(options, terminal, start, task, name, about)
    paste = np.where(inside[..., None], moved, numbers)
    Image((paste * 255).round().clip(0, 255).astype(np.uint8)).save(start.folder / PASTED)
    return done


def _image(path: Path) -> Image:
    from staf.kinds import Image
    from staf.kinds import open as open_signal

    image = open_signal(path)
    if not isinstance(image, Image):
        raise UserError(f"only images are cloned, and {path} is of kind {image.kind}")
    return image


def placed(onto: np.ndarray, part: np.ndarray, row: int, column: int) -> np.ndarray:
    """A copy of `onto` with `part` at a corner; what hangs over is cut off.

    >>> import numpy as np
    >>> placed(np.zeros((2, 3), int), np.ones((2, 2), int), 1, -1).tolist()
    [[0, 0, 0], [1, 0, 0]]
    """
    whole = onto.copy()
    height, width = onto.shape[:2]
    top, left = max(0, row), max(0, column)
    bottom, right = min(height, row + part.shape[0]), min(width, column + part.shape[1])
    if bottom > top and right > left:
        whole[top:bottom, left:right] = part[top - row : bottom - row, left - column : right - column]
    return whole


def _corner(text: str) -> tuple[int, int]:
    try:
        x, y = (int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--at must be two whole numbers, such as 40,25, got {text!r}") from None
    return x, y


def _size(image: Image) -> str:
    return "x".join(str(size) for size in reversed(image.shape))
