"""An experiment that costs nothing, and goes wrong in every way on request."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paper.runner import Context, Data, Outcome


@dataclass(frozen=True)
class ToyRun:
    value: float
    seed: int = 0
    mischief: str = ""


@dataclass(frozen=True)
class Toy:
    """Squares its value, and counts in `log` how often it was run."""

    log: str
    contents: str = "data"
    version: int = 1

    name = "toy"
    protocol = "the square of the value"

    def label(self, configuration: ToyRun) -> str:
        return f"value {configuration.value:g} seed/{configuration.seed}"

    def data(self, configuration: ToyRun) -> Data:
        return Data("toy data", self.contents)

    def run(self, configuration: ToyRun, context: Context) -> Outcome:
        with open(self.log, "a") as log:
            log.write(f"{configuration.value:g} {os.getpid()}\n")
        match configuration.mischief:
            case "raise":
                raise RuntimeError("as asked")
            case "die":
                os._exit(7)
            case "sleep":
                time.sleep(60)
            case "raise once" if not (marker := Path(self.log + ".once")).exists():
                marker.touch()
                raise RuntimeError("only the first time")
        square = configuration.value**2
        return Outcome(
            metrics={"square": square},
            history={"step": [0, 1], "loss": [1.0, 0.5]},
            details={"pair": (1, 2)},
            arrays={"values": np.full(3, square)},
            shared=(context.share("common", {"one": np.ones(1)}),),
        )

    def runs(self) -> int:
        path = Path(self.log)
        return len(path.read_text().splitlines()) if path.exists() else 0
