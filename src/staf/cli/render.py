"""`staf render FILE`: draw a fitted field: a picture at any scale, size or crop, a part of a recording, a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from staf.cli.drawing import check_suffix, write_field
from staf.cli.errors import UserError, edge
from staf.cli.kinds import kind_of_field, options_of
from staf.cli.many_options import INDEX, SET, WINDOWS
from staf.cli.options import Device, Flag, OutFile, device_name
from staf.cli.outputs import prepare_file
from staf.cli.resuming import CHECKPOINT
from staf.cli.terminal import Terminal
from staf.kinds.options import RenderKind

MODEL = "model.safetensors"


@dataclass(frozen=True, kw_only=True)
class RenderShared:
    """Options of `staf render` for every kind of signal."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A fitted field: a run folder, a model.safetensors, or the checkpoint of an interrupted run."""
    out: OutFile = None
    """The file to write; its suffix is the format (default: a file beside the field)."""
    overwrite: Flag = False
    """Replace the file if it exists."""
    device: Device = None
    """cpu, cuda or cuda:N (default: a GPU if there is one)."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr if it takes long, or not (default: show it)."""


class Render(RenderKind, RenderShared):
    """What `options_for` gives: the options of a kind and the shared ones."""


def options_for(words: Sequence[str]) -> type[RenderShared]:
    """The options for the kind of field that `words` name."""
    return options_of("Render", kind_of_field(words), RenderKind, RenderShared)


def field_of(path: Path) -> Path:
    """The file of a field; of a run's folder its model, or the checkpoint where the run was interrupted."""
    if not path.is_dir():
        return path
    found = [path / name for name in (MODEL, CHECKPOINT) if (path / name).exists()]
    if not found and (path / WINDOWS).exists():
        raise UserError(f"{path} holds the windows of a recording: staf export {path} -o FILE.wav joins them")
    if not found and any((path / name).exists() for name in (INDEX, SET)):
        raise UserError(f"{path} holds many fields: staf view shows them, staf export writes each as a file")
    if not found:
        raise UserError(f"{path} is a folder without {MODEL}: name the folder of a run, or a file")
    return found[0]


def run(options: Render, terminal: Terminal) -> int:
    """Load, draw, write."""
    how = options.how(options.out)
    from staf.api import load

    device = device_name(options.device)
    file = field_of(options.file)
    field = load(file).to(device)
    view = field.signal.view
    out = options.out
    if out is None:
        with edge():
            ending = options.ending(field.signal, how, field.convention)
        out = file.with_name(file.stem + ending)
    check_suffix(view, out, view.rendered_suffixes())
    prepare_file(out, overwrite=options.overwrite)
    size = write_field(field, out, how, device=device, title="render", show=options.progress)
    terminal.say(f"{out}: {view.size_in_words(size)}")
    terminal.finish({"verb": "render", "file": str(options.file), "out": str(out), **size})
    return 0
