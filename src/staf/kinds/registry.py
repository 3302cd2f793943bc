"""The kinds of signal: their classes, file formats, readers, and command-line options, by name.

A kind is a folder in `staf/kinds` whose `__init__.py` defines `KIND`, or whatever is passed to `register`. Classes,
readers and options are named as "module:name" and imported when they are used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from staf._documents import Entries

if TYPE_CHECKING:
    from staf.signals.base import Signal

T = TypeVar("T")
Reader = Callable[[Path, int], "Signal"]
Opener = Callable[[object, str | None, str | None], "Signal | None"]
FileTest = Callable[[BinaryIO], bool]


@dataclass(frozen=True)
class Format:
    """A file format: its name, the kind of signal, the bytes it must have, and its reader.

    `magic` lists (offset, bytes) pairs that must all be there. A format without any (OBJ is plain text) is recognised
    by its `suffixes`. `reader` is called as function(path, limit) with the most grid points to accept, and returns a
    signal; None means that the file is recognised but not supported. `test` is called with the open file if its magic
    bytes are not enough. Both are functions, or "module:function", which is imported when it is first used.

    >>> Format("PNG", "image", ((0, b"PNG!"),)).matches(b"PNG!data", ".jpg")
    True
    """

    name: str
    kind: str
    magic: tuple[tuple[int, bytes], ...] = ()
    reader: str | Reader | None = None
    suffixes: tuple[str, ...] = ()
    test: str | FileTest | None = None

    def matches(self, head: bytes, suffix: str) -> bool:
        """Whether a file with this head and suffix may be of the format: `test` is not called."""
        if not self.magic:
            return suffix in self.suffixes
        return all(head[offset : offset + len(part)] == part for offset, part in self.magic)

    def passes(self, file: BinaryIO) -> bool:
        """Whether the open file passes the `test`, if there is one."""
        file.seek(0)
        return self.test is None or resolve(self.test)(file)

    def load_reader(self) -> Reader:
        assert self.reader is not None
        return resolve(self.reader)


@dataclass(frozen=True)
class Kind:
    """One kind of signal.

    Attributes:
        name: its name in metadata and messages.
        signal: the subclass of `Signal`, or "module:Class".
        formats: the files it reads.
        opens: function(source, name, layout) that makes a signal of an array, a tensor or another object, or returns
            None for those that are not of this kind.
        layouts: the values of the argument `layout` of `staf.open` for this kind.
        options: the module with its options for the command line: `Fit`, `Render` and `Export`, each optional.
        suffixes: those of its files, which give the kind of a file that does not exist.
        folder_marks: names of files, one of which shows that a folder is a signal of this kind.
        folder_reader: function(path, limit) that reads such a folder.
        order: kinds with a lower number are tried first.
    """

    name: str
    signal: str | type[Signal]
    formats: tuple[Format, ...] = ()
    opens: str | Opener | None = None
    layouts: tuple[str, ...] = ()
    options: str | ModuleType | None = None
    suffixes: tuple[str, ...] = ()
    order: int = 100
    folder_marks: tuple[str, ...] = ()
    folder_reader: str | Reader | None = None

    @property
    def class_name(self) -> str:
        return self.signal.rpartition(":")[2] if isinstance(self.signal, str) else self.signal.__name__

    def load(self) -> type[Signal]:
        """The class of its signals."""
        return resolve(self.signal)

    def option(self, verb: str, default: type[T]) -> type[T]:
        """The class of options that the kind adds to a verb ("Fit", "Render", "Export"), or `default`."""
        module = importlib.import_module(self.options) if isinstance(self.options, str) else self.options
        return default if module is None else getattr(module, verb, default)


_registered: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Add a kind from outside the package; its name must be new.

    >>> from staf.kinds import Image
    >>> register(Kind("image", Image))
    Traceback (most recent call last):
    ValueError: the kind 'image' is registered already
    """
    if kind.name in kinds():
        raise ValueError(f"the kind {kind.name!r} is registered already")
    _registered[kind.name] = kind


def unregister(name: str) -> None:
    """Remove a kind that was added with `register`."""
    if name not in _registered:
        raise ValueError(f"the kind {name!r} was not added with register")
    del _registered[name]


def kinds() -> dict[str, Kind]:
    """Every kind by name, in the order in which they are tried."""
    every = [*_found(), *_registered.values()]
    return {kind.name: kind for kind in sorted(every, key=lambda kind: (kind.order, kind.name))}


def kind_of_folder(folder: Path) -> Kind | None:
    """The kind of signal that a folder is, or None.

    >>> kind_of_folder(Path("/no/such/folder")) is None
    True
    """
    marked = (kind for kind in kinds().values() if any((folder / mark).is_file() for mark in kind.folder_marks))
    return next(marked, None)


def from_metadata(metadata: Entries) -> Signal:
    """The empty signal that `metadata` describes: it renders like the original, without its data.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from_metadata(Image(np.zeros((2, 3), np.uint8)).metadata())
    Image('image', 3x2 grey, uint8, no pixels)
    """
    from staf.signals.errors import SignalError

    if not isinstance(metadata, Mapping):
        raise SignalError(f"the metadata of a signal must be a dictionary, got {metadata!r}")
    name, known = metadata.get("kind"), kinds()
    if not isinstance(name, str) or name not in known:
        raise SignalError(f"the kind of a signal must be one of {', '.join(known)}, got {name!r}")
    try:
        return known[name].load().from_metadata(metadata)
    except OverflowError as error:
        raise SignalError(f"metadata of {name} holds a number out of range: {error}") from None


def resolve(reference: str | T) -> T:
    """An object as it is, or the one that "module:name" names.

    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return cast(T, getattr(importlib.import_module(module), name))


@cache
def _found() -> tuple[Kind, ...]:
    """The `KIND` of every folder beside this file."""
    package = __package__ or ""
    folders = [entry.name for entry in pkgutil.iter_modules([str(Path(__file__).parent)]) if entry.ispkg]
    modules = [importlib.import_module(f"{package}.{folder}") for folder in folders]
    return tuple(module.KIND for module in modules if hasattr(module, "KIND"))
