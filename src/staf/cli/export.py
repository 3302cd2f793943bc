"""`staf export FIELD --out FILE`: a fitted field as a file that other programs open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.counting import Counting
from staf.cli.drawing import check_resolution, check_suffix, in_words, suffixes, write_signal
from staf.cli.errors import UserError, is_mistake, one_line
from staf.cli.kinds import kind_of_field
from staf.cli.options import Count, Device, Flag, Number, device_name
from staf.cli.outputs import prepare_file, prepare_folder, refuse_existing
from staf.cli.render import parse_size
from staf.cli.terminal import Terminal

MODEL, WINDOWS, MANY = "model.safetensors", "windows.json", "index.json"


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a fitted field as a file that other programs open, in the format of the file's suffix.

    FIELD is the file of a field, the folder of a run, of fit-windows, or of fit-many, whose fields are all exported.
    """

    field: Annotated[Positional[Path], arg(metavar="FIELD")]
    """A fitted field, or a folder that holds fitted fields."""
    out: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """What to write: a file whose suffix decides the format, or for a folder of fit-many another folder."""
    format: Annotated[str | None, arg(metavar="SUFFIX", help_behavior_hint="")] = None
    """With a folder of fit-many: the format of every file, such as png; by default png (floats: tiff), wav or ply."""
    overwrite: Flag = False
    """Replace what exists."""
    device: Device = None
    """cpu, cuda or cuda:N; by default a GPU if there is one."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr where it takes long, which is the default, or not."""


@dataclass(frozen=True, kw_only=True)
class ExportImage(Export):
    """Write a fitted picture as PNG, TIFF, JPEG, WebP or NPY, with the bit depth and profile of the original.

    FIELD is the file of a field, the folder of a run, or of fit-many, whose fields are all exported.
    """

    scale: Number = None
    """Pixels of the picture per pixel of the fitted image."""
    size: Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")] = None
    """Width and height in pixels, e.g. 1920x1080."""


@dataclass(frozen=True, kw_only=True)
class ExportAudio(Export):
    """Write a fitted recording as WAV, FLAC, OGG or MP3, whole and never clipped.

    FIELD is the file of a field, the folder of a run, of fit-windows, or of fit-many, whose fields are all exported.
    """

    rate: Count = None
    """Samples per second; by default those of the recording."""


@dataclass(frozen=True, kw_only=True)
class ExportShape(Export):
    """Write a fitted shape as PLY, OBJ, STL, GLB or OFF, in the frame and scale of the original.

    FIELD is the file of a field, or the folder of a run. Marching cubes runs in slabs, so that memory follows the
    surface and not the volume.
    """

    resolution: Count = None
    """Voxels along the longest side; by default those of the fit."""


OPTIONS: dict[str, type[Export]] = {"image": ExportImage, "audio": ExportAudio, "shape": ExportShape}


def options_for(words: Sequence[str]) -> type[Any]:
    """The options for the kind of field that `words` name."""
    return OPTIONS.get(kind_of_field(words), ExportImage)


def run(options: Export, terminal: Terminal) -> int:
    """Find the field or fields, write each, say what was written."""
    how, device = _how(options), device_name(options.device)
    source = options.field
    many = source.is_dir() and not (source / MODEL).is_file() and not (source / WINDOWS).is_file()
    if many:
        return _export_many(options, terminal, how, device)
    if options.format is not None:
        raise UserError(f"--format is for a folder of fit-many; here the suffix of --out decides, got {options.out}")
    if (source / WINDOWS).is_file():
        about = _export_windows(options, how, device)
    else:
        from staf.api import load

        field = load(source / MODEL if source.is_dir() else source)
        check_suffix(field.signal.kind, options.out)
        prepare_file(options.out, overwrite=options.overwrite)
        about = write_signal(field.to(device), options.out, how, device=device, title="export", show=options.progress)
    terminal.say(f"{options.out}: {in_words(about)}")
    terminal.finish({"verb": "export", "field": str(source), "out": str(options.out), **about})
    return 0


def _how(options: Export) -> dict[str, Any]:
    """The arguments of the signal's `render`; checked before torch is loaded."""
    match options:
        case ExportAudio():
            if options.rate is not None and options.rate < 1:
                raise UserError(f"--rate must be at least 1 sample per second, got {options.rate}")
            return {"rate": options.rate}
        case ExportShape():
            check_resolution(options.resolution)
            return {"resolution": options.resolution}
        case _:
            assert isinstance(options, ExportImage)
            return {"size": parse_size(options.size), "scale": options.scale}


def _export_windows(options: Export, how: dict[str, Any], device: str) -> dict[str, int]:
    """A recording that was fitted in windows, joined."""
    from staf.kinds.audio.files import check_format
    from staf.windows import WindowedField, load_windows

    check_suffix("audio", options.out)
    prepare_file(options.out, overwrite=options.overwrite)
    whole = load_windows(options.field)
    rate = how["rate"] or whole.signal.rate
    check_format(options.out, whole.signal.out_features, rate)
    total = sum(stop - start for start, stop in whole.windows) * rate // whole.signal.rate
    with Counting("export", total, show=options.progress) as count:
        fields: Any = [SimpleNamespace(predict=count.watched(each.to(device).predict)) for each in whole.fields]
        sound = WindowedField(fields, whole.windows, whole.signal).render(rate=rate)
    sound.save(options.out)
    return {"samples": sound.samples, "rate": sound.rate}


def _export_many(options: Export, terminal: Terminal, how: dict[str, Any], device: str) -> int:
    """Every field of a folder that fit-many wrote; one that cannot be exported loses no other."""
    from staf.api import load

    targets, failed = _targets(options)
    count_all = len(targets) + len(failed)
    prepare_folder(options.out, 0)
    written = {}
    with Counting("export", len(targets), show=options.progress) as count:
        for name, (path, out, kind) in targets.items():
            # Options are those of the first field's kind.
            wanted = how if OPTIONS.get(kind) is type(options) else {}
            try:
                write_signal(load(path).to(device), out, wanted, device=device, title=name, show=False)
                written[name] = str(out)
            except Exception as error:
                if not is_mistake(error):
                    raise
                failed[name] = one_line(str(error))
            count.add(1)
    terminal.say(f"{options.out}: {len(written):,} of {count_all:,} fields")
    for name, message in failed.items():
        terminal.note(f"{name} failed: {message}")
    document = {"verb": "export", "field": str(options.field), "out": str(options.out)}
    terminal.finish({**document, "files": written, "failed": failed})
    return 1 if failed else 0


def _targets(options: Export) -> tuple[dict[str, tuple[Path, Path, str]], dict[str, str]]:
    """By name: the field's file, the file to write and the kind; and why others cannot be exported."""
    from staf.kinds import from_metadata
    from staf.reports.run_folder import reconstruction_suffix
    from staf.storage import read_header
    from staf.storage.folder import FieldFolder

    if not (options.field / MANY).is_file():
        raise UserError(f"{options.field} holds no {MODEL}, {WINDOWS} or {MANY}: it is no folder that staf has written")
    files = FieldFolder(options.field).files()
    known = {suffix for kind in OPTIONS for suffix in suffixes(kind)}
    if options.out.suffix.lower() in known and not options.out.is_dir():
        # fit-windows numbers its fields, and writes windows.json once all are there.
        unfinished = "; if they are windows of one recording, finish it first with staf fit-windows --resume"
        hint = unfinished if all(name.isdecimal() for name in files) else ""
        raise UserError(
            f"{options.field} holds {len(files)} fields: name a folder with --out and the format with --format, got "
            f"--out {options.out}{hint}"
        )
    chosen = None if options.format is None else "." + options.format.lower().lstrip(".")
    targets, failed = {}, {}
    for name, path in files.items():
        try:
            signal = from_metadata(read_header(path).metadata.get("signal", {}))
            out = options.out / (name + (chosen or reconstruction_suffix(signal)))
            check_suffix(signal.kind, out)
        except Exception as error:
            if not is_mistake(error):
                raise
            failed[name] = one_line(str(error))
            continue
        refuse_existing(out, overwrite=options.overwrite)
        targets[name] = path, out, signal.kind
    if chosen is not None and not targets:
        check_suffix(kind_of_field([str(options.field)]), Path(f"NAME{chosen}"))
    return targets, failed
