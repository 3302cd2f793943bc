"""A folder of fields: `fields/NAME.safetensors` for each, and `index.json`, which lists them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from staf import __version__
from staf._documents import Document, Record, read_json
from staf._files import atomic_write
from staf.storage.file import save_field
from staf.storage.header import FileError, read_header

INDEX, FIELDS = "index.json", "fields"
FORMAT_VERSION = 1
# In bytes; the suffix comes after it.
LONGEST_FILE_NAME = 200


def listed_names(document: Any) -> list[str]:
    """The names of the fields that an index lists, each that of a file; a ValueError if it is not an index."""
    fields = Record(document).get("fields")
    if not isinstance(fields, dict):
        raise ValueError("fields must be data by name")
    for name in fields:
        if not is_file_name(name):
            raise ValueError(f"it lists {name[:80]!r}, which is not a file name")
    return list(fields)


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file beside others, and not a path or something that no file can be called.

    >>> is_file_name("a"), is_file_name("../a"), is_file_name(""), is_file_name("a\\0")
    (True, False, False, False)
    """
    return Path(name).name == name and "\0" not in name and 0 < len(os.fsencode(name)) <= LONGEST_FILE_NAME


class FieldFolder:
    """A folder of fields, which only this class writes: index, file names, and what an earlier run has finished.

    >>> import tempfile
    >>> from staf.nn import siren
    >>> folder = FieldFolder(tempfile.mkdtemp())
    >>> folder.add("a", siren(2, 3, width=8, depth=2), {"metrics": {"psnr": 30.0}})
    >>> folder.write_index(seed=0, recipe=None, failures={"b": "b.png is empty"}, order=["a", "b"])
    >>> list(folder.files()), folder.finished("a")["metrics"], folder.finished("b")
    (['a'], {'psnr': 30.0}, None)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._listed: Document = {}

    @classmethod
    def for_run(cls, path: str | os.PathLike[str], *, resume: bool, overwrite: bool) -> FieldFolder:
        """The folder of a run; refused if it holds an earlier run that is neither resumed nor overwritten."""
        folder = cls(path)
        if (folder.path / INDEX).exists() and not (resume or overwrite):
            raise FileExistsError(
                f"{folder.path} already holds fits: give resume=True to continue, or overwrite=True to redo them"
            )
        return folder

    def file(self, name: str) -> Path:
        """Where the field of a name is."""
        if not is_file_name(name):
            raise FileError(f"{name[:80]!r} is not a file name")
        return self.path / FIELDS / f"{name}.safetensors"

    def files(self) -> dict[str, Path]:
        """The file of each field that the index lists, by name."""
        return {name: self.file(name) for name in self.names()}

    def names(self) -> list[str]:
        """The names of the fields that the index lists."""
        path = self.path / INDEX
        try:
            return listed_names(read_json(path))
        except FileNotFoundError:
            if not self.path.is_dir():
                raise FileError(f"{self.path} does not exist") from None
            raise FileError(f"{self.path} has no {INDEX}: it is not a folder that fit_many wrote") from None
        except OSError as error:
            raise FileError(f"cannot open {path}: {error.strerror or error}") from None
        except ValueError as error:
            raise FileError(f"{path} is not an index of fitted fields: {error}") from None

    def finished(self, name: str) -> Document | None:
        """What the file of a field says of it, if there is one that opens."""
        try:
            return read_header(self.file(name)).metadata
        except FileError:
            return None

    def check_resumed(self, name: str, *, seed: int, recipe: Document, architecture: Document | None) -> None:
        """Refuse to mix the finished field of a name with ones of another seed, recipe or network."""
        saved = self.finished(name)
        if saved is None:
            return
        before, now = {"seed": saved.get("seed")}, {"seed": seed}
        earlier = saved.get("recipe")
        if isinstance(earlier, dict):
            # Compared as a file would give it back; entries that only one of them has were added in between.
            wanted = json.loads(json.dumps(recipe))
            before |= {key: earlier[key] for key in wanted if key in earlier}
            now |= {key: wanted[key] for key in wanted if key in earlier}
        for key, value in now.items():
            if value != before[key]:
                raise FileError(
                    f"{self.file(name)} was fitted with {key}={before[key]}, got {key}={value}: resume with the same "
                    "settings, or overwrite the folder"
                )
        if architecture is not None and saved.get("architecture") != json.loads(json.dumps(architecture)):
            raise FileError(
                f"{self.file(name)} is another network than the one asked for: resume with the same model and signals, "
                "or overwrite the folder"
            )

    def add(self, name: str, field: nn.Module, metadata: Document) -> None:
        """Write a field, and list it in the next index."""
        save_field(self.file(name), field, metadata)
        self.keep(name, metadata)

    def keep(self, name: str, metadata: Document) -> None:
        """List a field that is already there."""
        self._listed[name] = metadata.get("metrics", {})

    def write_index(
        self, *, seed: int, recipe: Document | None, failures: dict[str, str], order: Sequence[str]
    ) -> None:
        """Write the index: all of `order` that was added or kept, and why others are missing."""
        fields = {
            name: {"file": f"{FIELDS}/{name}.safetensors", "metrics": self._listed[name]}
            for name in order
            if name in self._listed
        }
        self.write_document(
            INDEX,
            {"staf": __version__, "seed": seed, "recipe": recipe, "fields": fields, "failures": failures},
        )

    def write_document(self, name: str, document: Document) -> None:
        """Write a JSON document into the folder, whole or not at all."""
        text = json.dumps({"format": FORMAT_VERSION, **document}, indent=1, ensure_ascii=False)
        atomic_write(self.path / name, text)

    def read_document(self, name: str) -> Any:
        """Read a JSON document of the folder; a ValueError if it is not one."""
        path = self.path / name
        try:
            return read_json(path)
        except OSError as error:
            raise FileError(f"cannot open {path}: {error.strerror or error}") from error


def unique_names(wanted: Iterable[str]) -> list[str]:
    """Names that are safe as file names, each once; an empty one becomes a number.

    >>> unique_names(["a b", "../a b", ""])
    ['a_b', 'a_b-2', 'signal-00002']
    """
    names: list[str] = []
    seen: set[str] = set()
    for number, raw in enumerate(wanted):
        stem = re.sub(r"[^\w.-]+", "_", raw).strip("._")[:100] or f"signal-{number:05d}"
        name, again = stem, 1
        while name in seen:
            again += 1
            name = f"{stem}-{again}"
        seen.add(name)
        names.append(name)
    return names
