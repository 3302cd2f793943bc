"""`staf export FIELD --out FILE`: a fitted field as a file that other programs open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.counting import Counting
from staf.cli.drawing import check_suffix, write_field
from staf.cli.errors import UserError, is_mistake, one_line
from staf.cli.kinds import is_url, kind_of_field, options_of
from staf.cli.options import Device, Flag, device_name
from staf.cli.outputs import prepare_file, prepare_folder, refuse_existing
from staf.cli.terminal import Terminal
from staf.kinds.options import ExportKind
from staf.kinds.registry import kinds

if TYPE_CHECKING:
    from staf.api import FittedField
    from staf.kinds import Audio
    from staf.signals.view import View

MODEL, WINDOWS, MANY, SET = "model.safetensors", "windows.json", "index.json", "set.json"
# Files that hold the field itself; `staf.viewer.TARGETS` writes them.
HOLDING = (".html", ".onnx", ".c", ".glsl", ".wgsl")


@dataclass(frozen=True, kw_only=True)
class ExportShared:
    """Options of `staf export` for every kind of signal."""

    field: Annotated[Positional[str], arg(metavar="FIELD")]
    """A fitted field, a folder of fitted fields, or the URL of a set."""
    out: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """The file to write, whose suffix is the format; for a folder of fit-many, the folder to write to."""
    format: Annotated[str | None, arg(metavar="SUFFIX", help_behavior_hint="")] = None
    """For a folder of fit-many: the format of every file (default: png, or tiff for floats; wav; ply)."""
    half: Flag = False
    """For .html: store large matrices as float16, which halves the size."""
    overwrite: Flag = False
    """Replace existing files."""
    device: Device = None
    """cpu, cuda or cuda:N (default: a GPU if there is one)."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr if it takes long, or not (default: show it)."""


class Export(ExportKind, ExportShared):
    """What `options_for` gives: the options of a kind and the shared ones."""


def options_for(words: Sequence[str]) -> type[ExportShared]:
    """The options for the kind of field that `words` name."""
    return _options(kind_of_field(words))


def _options(kind: str) -> type[ExportShared]:
    return options_of("Export", kind, ExportKind, ExportShared)


def run(options: Export, terminal: Terminal) -> int:
    """Find the field or fields, write each, say what was written."""
    how, device = options.how(), device_name(options.device)
    source = Path(options.field)
    many = source.is_dir() and not (source / MODEL).is_file() and not (source / WINDOWS).is_file()
    if many or is_url(options.field):
        return _export_many(options, terminal, how, device)
    if options.format is not None:
        raise UserError(f"--format is for a folder of fit-many; here the suffix of --out decides, got {options.out}")
    if (source / WINDOWS).is_file():
        view, size = _export_windows(options, how, device)
    else:
        from staf.api import load

        field = load(source / MODEL if source.is_dir() else source)
        if options.out.suffix.lower() in HOLDING:
            return _export_holding(options, terminal, field, how)
        _refuse_half(options)
        view = field.signal.view
        check_suffix(view, options.out, (*view.exported_suffixes(), *HOLDING))
        prepare_file(options.out, overwrite=options.overwrite)
        size = write_field(field.to(device), options.out, how, device=device, title="export", show=options.progress)
    terminal.say(f"{options.out}: {view.size_in_words(size)}")
    terminal.finish({"verb": "export", "field": options.field, "out": str(options.out), **size})
    return 0


def _export_holding(options: Export, terminal: Terminal, field: FittedField, how: Document) -> int:
    """A file that holds the field itself."""
    _check_holding(options, options.out, how)
    prepare_file(options.out, overwrite=options.overwrite)
    size = _write_holding(options, field, options.out)
    terminal.say(f"{options.out}: {size / 1000:,.0f} kB, the field itself")
    terminal.finish({"verb": "export", "field": options.field, "out": str(options.out), "bytes": size})
    return 0


def _write_holding(options: Export, field: FittedField, out: Path) -> int:
    """Write it, and return its size in bytes."""
    from staf.viewer import export

    return export(field, out, half=options.half).stat().st_size


def _check_holding(options: Export, out: Path, how: Document) -> None:
    """Refuse options that are about renderings."""
    if given := [f"--{name}" for name, value in how.items() if value is not None]:
        raise UserError(f"{', '.join(given)} has no effect on {out.suffix}, which holds the field itself: leave it out")
    if out.suffix.lower() != ".html":
        _refuse_half(options)


def _refuse_half(options: Export) -> None:
    if options.half:
        raise UserError(f"--half is for .html, got --out {options.out}")


def _export_windows(options: Export, how: Document, device: str) -> tuple[View[Audio], dict[str, int]]:
    """A recording that was fitted in windows, joined."""
    from staf.kinds.audio.files import check_format
    from staf.windows import WindowedField, load_windows

    _refuse_half(options)
    if options.out.suffix.lower() in HOLDING:
        raise UserError(
            f"{options.field} holds a field for each window, and a {options.out.suffix} file holds one: export one of "
            f"{Path(options.field) / 'fields'}, or all of it as .wav"
        )
    whole = load_windows(Path(options.field))
    check_suffix(whole.signal.view, options.out, whole.signal.view.suffixes())
    prepare_file(options.out, overwrite=options.overwrite)
    rate = how["rate"] or whole.signal.rate
    check_format(options.out, whole.signal.out_features, rate)
    total = sum(stop - start for start, stop in whole.windows) * rate // whole.signal.rate
    with Counting("export", total, show=options.progress) as count:
        fields: Any = [SimpleNamespace(predict=count.watched(each.to(device).predict)) for each in whole.fields]
        sound = WindowedField(fields, whole.windows, whole.signal).render(rate=rate)
    sound.save(options.out)
    return sound.view, {"samples": sound.samples, "rate": sound.rate}


def _export_many(options: Export, terminal: Terminal, how: Document, device: str) -> int:
    """Every field of a folder that fit-many wrote; one that cannot be exported loses no other."""
    targets, failed = _targets(options)
    count_all = len(targets) + len(failed)
    prepare_folder(options.out, 0)
    written = {}
    with Counting("export", len(targets), show=options.progress) as count:
        for name, (load, out, kind) in targets.items():
            # Options are those of the first field's kind.
            wanted = how if isinstance(options, _options(kind)) else {}
            try:
                if out.suffix.lower() in HOLDING:
                    _write_holding(options, load(), out)
                else:
                    write_field(load().to(device), out, wanted, device=device, title=name, show=False)
                written[name] = str(out)
            except Exception as error:
                if not is_mistake(error):
                    raise
                failed[name] = one_line(str(error))
            count.add(1)
    terminal.say(f"{options.out}: {len(written):,} of {count_all:,} fields")
    for name, message in failed.items():
        terminal.note(f"{name} failed: {message}")
    document = {"verb": "export", "field": options.field, "out": str(options.out)}
    terminal.finish({**document, "files": written, "failed": failed})
    return 1 if failed else 0


def _targets(options: Export) -> tuple[dict[str, tuple[Callable[[], FittedField], Path, str]], dict[str, str]]:
    """By name: what loads the field, the file to write and the kind; and why others cannot be exported."""
    from staf.cli.many_fields import fields_in
    from staf.kinds import from_metadata

    if not is_url(options.field) and not any((Path(options.field) / name).is_file() for name in (MANY, SET)):
        known_as = f"{MODEL}, {WINDOWS}, {MANY} or {SET}"
        raise UserError(f"{options.field} holds no {known_as}: it is not a folder that staf wrote")
    files = fields_in(options.field)
    known = {suffix for kind in kinds().values() for suffix in kind.suffixes} | set(HOLDING)
    if options.out.suffix.lower() in known and not options.out.is_dir():
        # fit-windows numbers its fields, and writes windows.json once all are there.
        unfinished = "; if they are windows of one recording, finish it first with staf fit-windows --resume"
        hint = unfinished if all(name.isdecimal() for name in files) else ""
        raise UserError(
            f"{options.field} holds {len(files)} fields: name a folder with --out and the format with --format, got "
            f"--out {options.out}{hint}"
        )
    chosen = None if options.format is None else "." + options.format.lower().lstrip(".")
    if chosen in HOLDING:
        _check_holding(options, Path(f"NAME{chosen}"), options.how())
    else:
        _refuse_half(options)
    targets, failed, refused = {}, {}, None
    for name, field in files.items():
        view = None
        try:
            signal = from_metadata(field.signal() or {})
            view = signal.view
            out = options.out / (name + (chosen or view.suffix))
            check_suffix(view, out, (*view.exported_suffixes(), *HOLDING))
        except Exception as error:
            if not is_mistake(error):
                raise
            failed[name] = one_line(str(error))
            refused = view
            continue
        refuse_existing(out, overwrite=options.overwrite)
        targets[name] = field.load, out, signal.kind
    if chosen is not None and refused is not None and not targets:
        check_suffix(refused, Path(f"NAME{chosen}"), (*refused.exported_suffixes(), *HOLDING))
    return targets, failed
