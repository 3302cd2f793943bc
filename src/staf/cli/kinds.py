"""Which kind of signal the arguments name, found before they are parsed, and the options of that kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import new_class
from typing import TypeVar

from staf.cli.errors import UserError
from staf.kinds.formats import recognise
from staf.kinds.registry import kind_of_folder, kinds

# The kind whose options are shown where no file says otherwise.
DEFAULT = "image"

T = TypeVar("T")


@cache
def options_of(verb: str, kind: str, base: type, shared: type[T]) -> type[T]:
    """The dataclass of options of a verb for a kind: what the kind adds, and what all kinds share.

    `base` is what kinds derive from, and is used by those that add nothing. A file of no kind is parsed like the
    default one, and refused when it is opened.

    >>> from staf.cli.fit import FitShared
    >>> from staf.kinds.options import FitKind
    >>> "resolution" in options_of("Fit", "shape", FitKind, FitShared).__dataclass_fields__
    True
    """
    known = kinds()
    own: type = known.get(kind, known[DEFAULT]).option(verb, base)
    about = {"__doc__": own.__doc__, "__module__": own.__module__}
    joined = new_class(f"{verb}Options", (own, shared), exec_body=lambda namespace: namespace.update(about))
    return dataclass(frozen=True, kw_only=True)(joined)


def kind_of(words: Sequence[str], default: str = DEFAULT) -> str:
    """The kind (image, audio, shape, ...) of the first signal among the arguments; `default` if there is none.

    >>> kind_of(["--help"]), kind_of(["--steps", "3", "missing.ply"])
    ('image', 'shape')
    """
    for word in (word for word in words if not word.startswith("-")):
        path = Path(word)
        folder = kind_of_folder(path) if path.is_dir() else None
        if folder is not None:
            return folder.name
        # A pipe would be waited for.
        if not path.is_file():
            continue
        try:
            with open(path, "rb") as file:
                format = recognise(file, path.suffix)
        except OSError:
            continue
        if format is not None:
            return format.kind
    # For files that do not exist: their options are parsed, and the message is about the file.
    by_suffix = {suffix: kind.name for kind in kinds().values() for suffix in kind.suffixes}
    found = (by_suffix.get(Path(word).suffix.lower()) for word in words if not word.startswith("-"))
    kind = next((kind for kind in found if kind is not None), None)
    if kind is None and (missing := _missing(words)):
        raise UserError(f"cannot open {missing!r}: there is no such file or folder")
    return kind or default


def kind_of_field(words: Sequence[str], default: str = DEFAULT) -> str:
    """The kind of signal behind the first fitted field, or folder of fields, among the arguments; or `default`.

    >>> kind_of_field(["--help"])
    'image'
    """
    for word in words:
        if word.startswith("-"):
            continue
        if is_url(word):
            kind = _kind_of_set(word)
            if kind is not None:
                return kind
            continue
        if (Path(word) / "windows.json").is_file():
            return "audio"
        for path in _files([word, *_fields_in(Path(word))]):
            from staf.storage import FileError, read_header

            try:
                metadata = read_header(path).metadata
            except (FileError, OSError):
                continue
            # A shard has the signals of its fields in a list.
            for own in (metadata, *metadata.get("fields", [])[:1]):
                if isinstance(own, dict) and isinstance(signal := own.get("signal"), dict):
                    return str(signal.get("kind", default))
    if missing := _missing(words):
        from staf.storage import read_header

        read_header(missing)
    return default


def _missing(words: Sequence[str]) -> str | None:
    """A file or folder that is named and does not exist, unless help is asked for.

    Options depend on what it is, so that it is refused before they are.
    """
    if {"-h", "--help"} & set(words):
        return None
    # Later words may be values of options.
    named = [word for i, word in enumerate(words) if word.endswith(".safetensors") or (i == 0 and word[:1] != "-")]
    return next((word for word in named if word and not is_url(word) and not Path(word).exists()), None)


def is_url(place: str) -> bool:
    """Whether a place is named by a URL.

    >>> is_url("s3://bucket/set"), is_url("folder/set")
    (True, False)
    """
    return "://" in place


def _kind_of_set(url: str) -> str | None:
    """The kind of the first field of a set behind a URL; None where there is none: the verb says why."""
    from staf.storage.field_set import FieldSet

    try:
        signals = [entry.signal for entry in FieldSet(url).entries[:1]]
    except (OSError, ImportError, ValueError):
        return None
    return next((str(signal["kind"]) for signal in signals if signal is not None and "kind" in signal), None)


def _files(words: Sequence[str]) -> Iterator[Path]:
    return (Path(word) for word in words if not word.startswith("-") and Path(word).is_file())


def _fields_in(folder: Path) -> list[str]:
    """The field of a run's folder, the checkpoint of an interrupted run, or the first file of a folder of many."""
    for name in ("model.safetensors", "checkpoint.safetensors"):
        if (folder / name).is_file():
            return [str(folder / name)]
    many = (path for pattern in ("fields", "shards") for path in sorted(folder.glob(f"{pattern}/*.safetensors"))[:1])
    return [str(path) for path in many]
