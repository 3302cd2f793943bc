"""`staf theory NAME`: a result of the paper, or an analysis of a network on a signal, computed and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError, did_you_mean
from staf.cli.options import Flag, OutFile, device_name
from staf.cli.outputs import prepare_figure
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from torch import nn

    from staf.signals.base import Signal


@dataclass(frozen=True, kw_only=True)
class Theory:
    """Compute and draw a result of the theory, or an analysis. Without a name, list all of them."""

    name: Annotated[Positional[str | None], arg(metavar="NAME", help_behavior_hint="")] = None
    """The name of the result."""
    field: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """A fitted field to analyse (default: a network before training)."""
    signal: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """An image or recording for the analyses (default: a small photograph, or a synthetic chord)."""
    device: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Device of the analyses: cpu or cuda."""
    seed: Annotated[int, arg(metavar="N")] = 0
    """Seed of the network and of random samples."""
    out: OutFile = None
    """The figure to write (default: runs/theory-NAME.png)."""
    overwrite: Flag = False
    """Replace the figure if it exists."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""


def options_for(words: Sequence[str]) -> type[object]:
    return Theory


def run(options: Theory, terminal: Terminal) -> int:
    """List, or compute, print and draw."""
    from staf.analysis.registry import RESULTS as ANALYSES
    from staf.theory.registry import RESULTS as THEOREMS

    results: Document = {**THEOREMS, **ANALYSES}
    if options.name is None:
        for name, entry in results.items():
            terminal.say(f"{name:<24}{entry.description}")
        terminal.finish({"verb": "theory", "results": {name: entry.description for name, entry in results.items()}})
        return 0
    if options.name not in results:
        hint = did_you_mean(options.name, results)
        raise UserError(f"there is no result {options.name!r}{hint} (the results are {', '.join(results)})")
    module = _module(options.field)
    out = options.out or Path("runs") / f"theory-{options.name}.png"
    prepare_figure(out, overwrite=options.overwrite)
    extra: Document = {}
    if options.name in ANALYSES:
        device = None if options.device is None else device_name(options.device)
        extra = {"signal": _signal(options.signal), "device": device}
    elif options.signal is not None or options.device is not None:
        raise UserError(f"{options.name} needs no signal and no device: leave --signal and --device out")
    try:
        result = results[options.name].run(module, options.seed, **extra)
    except (ValueError, TypeError) as error:
        if module is None and options.signal is None:
            raise
        raise UserError(f"{options.name} does not apply to {options.field or options.signal}: {error}") from error
    _draw(options.name, result.data, out)
    terminal.say(result.text())
    terminal.say(f"figure: {out}")
    terminal.finish(
        {
            "verb": "theory",
            "name": options.name,
            "heading": result.heading,
            "rows": [{"label": label, "value": value} for label, value in result.rows],
            "figure": str(out),
        }
    )
    return 0


def _module(path: Path | None) -> nn.Module | None:
    if path is None:
        return None
    from staf.api import load

    return load(path).module


def _signal(path: Path | None) -> Signal | None:
    if path is None:
        return None
    from staf.kinds import open as open_signal

    return open_signal(path)


def _draw(name: str, data: Document, path: Path) -> None:
    from staf._files import atomic_path
    from staf.figures import analysis, theory

    draw = analysis.draw if name in analysis.DRAWERS else theory.draw
    with atomic_path(path) as temporary:
        draw(name, data).savefig(temporary, dpi=150)
