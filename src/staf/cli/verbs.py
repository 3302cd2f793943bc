"""The verbs of the command: name -> module and a line of help. A new verb is a module and a row here."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from staf._extras import need
from staf.cli.terminal import Terminal


class VerbModule(Protocol):
    """What a verb's module offers."""

    def options_for(self, words: Sequence[str]) -> type[object]:
        """The dataclass of options; `words` are the arguments, so that it may depend on what the file is."""
        ...

    def run(self, options: Any, terminal: Terminal) -> int:
        """Do it and return the exit code."""
        ...


@dataclass(frozen=True)
class Verb:
    """Where a verb lives and what it does, in a line."""

    module: str
    help: str
    # Libraries that its figures or methods need: extra and module, looked for before any work is done.
    needs: tuple[tuple[str, str], ...] = ()

    def load(self) -> VerbModule:
        return importlib.import_module(self.module)  # type: ignore[return-value]

    def check(self) -> None:
        """Refuse at once what would fail for a missing library after the work is done."""
        for extra, module in self.needs:
            need(extra, module)


PLOT = ("plot", "matplotlib")
CLASSICAL = ("image", "skimage")


VERBS: dict[str, Verb] = {
    "fit": Verb("staf.cli.fit", "fit a field to an image, recording, mesh, array or scene; writes a report"),
    "render": Verb(
        "staf.cli.render",
        "draw a fitted field at any scale, size or crop; audio at any rate, a mesh at any resolution, a scene's views",
    ),
    "export": Verb("staf.cli.export", "a fitted field, or a folder of them, as files that other programs open"),
    "view": Verb("staf.cli.view", "a fitted field in the browser: zoom, derivatives, activations, sound, surfaces"),
    "compare": Verb("staf.cli.compare", "fit several networks with the same budget; a table and a figure", (PLOT,)),
    "restore": Verb(
        "staf.cli.restore",
        "fill in missing pixels, take blur away, make finer or denoise; or several of these",
        (PLOT, CLASSICAL),
    ),
    "tomography": Verb("staf.cli.tomography", "a slice or a volume from X-ray projections", (PLOT, CLASSICAL)),
    "mri": Verb("staf.cli.mri", "a picture from part of its Fourier transform", (PLOT, CLASSICAL)),
    "clone": Verb("staf.cli.clone", "part of a picture in another one, without a seam"),
    "upscale": Verb("staf.cli.upscale", "an image at several times its resolution", (PLOT, CLASSICAL)),
    "denoise": Verb("staf.cli.denoise", "denoise an image; stops by itself, no clean image needed", (PLOT, CLASSICAL)),
    "inspect": Verb("staf.cli.inspect", "what a fitted field has learnt: parameters, activations, spectra", (PLOT,)),
    "theory": Verb("staf.cli.theory", "the paper's results, computed and drawn by name", (PLOT,)),
    "fit-many": Verb("staf.cli.fit_many", "fit a network to each image of a folder, many at once"),
    "fit-windows": Verb("staf.cli.fit_windows", "fit a recording of any length, a small network for each window"),
    "bench": Verb("staf.cli.bench", "how fast this machine trains and evaluates, beside the released formulas"),
}
