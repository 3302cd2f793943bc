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
    "fit": Verb("staf.cli.fit", "fit a field to an image, recording, mesh, video, array or scene; write a report"),
    "render": Verb(
        "staf.cli.render",
        "render a fitted field: an image at any size, audio at any rate, a mesh at any resolution, a scene's views",
    ),
    "export": Verb("staf.cli.export", "write a fitted field, or a folder of them, as files for other programs"),
    "view": Verb(
        "staf.cli.view", "show a fitted field in the browser: zoom, derivatives, activations, sound, surfaces"
    ),
    "compare": Verb(
        "staf.cli.compare", "fit several networks with the same budget; write a table and a figure", (PLOT,)
    ),
    "restore": Verb(
        "staf.cli.restore",
        "fill in missing pixels, deblur, enlarge or denoise an image, or several of these",
        (PLOT, CLASSICAL),
    ),
    "tomography": Verb(
        "staf.cli.tomography", "reconstruct a slice or a volume from X-ray projections", (PLOT, CLASSICAL)
    ),
    "mri": Verb("staf.cli.mri", "reconstruct an image from a part of its Fourier transform", (PLOT, CLASSICAL)),
    "clone": Verb("staf.cli.clone", "clone a part of an image into another without a visible seam"),
    "upscale": Verb("staf.cli.upscale", "enlarge an image to several times its resolution", (PLOT, CLASSICAL)),
    "denoise": Verb("staf.cli.denoise", "denoise an image; stops by itself, no clean image needed", (PLOT, CLASSICAL)),
    "inspect": Verb(
        "staf.cli.inspect", "show what a fitted field has learnt: parameters, activations, spectra", (PLOT,)
    ),
    "theory": Verb("staf.cli.theory", "compute and draw a result of the paper", (PLOT,)),
    "fit-many": Verb("staf.cli.fit_many", "fit one network to each signal in a folder, many at once"),
    "fit-windows": Verb("staf.cli.fit_windows", "fit a recording of any length, with a small network for each window"),
    "bench": Verb(
        "staf.cli.bench", "measure how fast this machine trains and evaluates, compared with the released formulas"
    ),
}
