"""SIREN networks of others as a set: state dicts of linear layers, from safetensors or from files of torch."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from staf._documents import Document, Entries
from staf._jsonable import digest
from staf.nn import siren
from staf.storage.field_set import FieldSet
from staf.storage.folder import unique_names
from staf.storage.header import FileError
from staf.storage.sets.folder import SetFolder, entries_of
from staf.storage.sets.shard import Finished


def convert_sirens(
    files: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    omega0: float = 30.0,
    hidden_omega0: float | None = None,
    offset: float = 0.0,
    convention: str = "ends",
    tags: Sequence[Entries] | None = None,
    per_shard: int = 1000,
) -> FieldSet:
    """Write the networks x -> W_n sin(w (W_{n-1} ... sin(w0 (W_1 x + b_1)))) + b_n + `offset` of `files` as a set.

    Each file is a state dict: a safetensors file, or a torch file that contains only tensors and plain data (nothing
    else is unpickled). Its 2-D tensors, in order, are the weights of the layers, each followed by its bias. The first
    layer has frequency w0 = `omega0`, the others `hidden_omega0` (by default the same). `offset` is what the original
    program adds to the output. The name of a field is its path below the common folder of all files, with "-" between
    the parts.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> theirs = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
    >>> torch.save(theirs.state_dict(), f"{folder}/digit.pth")
    >>> fields = convert_sirens([f"{folder}/digit.pth"], f"{folder}/set", tags=[{"digit": 3}])
    >>> field, metadata = fields.load(0)
    >>> x = torch.zeros(1, 2)
    >>> hidden = (30 * theirs[1]((30 * theirs[0](x)).sin())).sin()
    >>> torch.allclose(field(x), theirs[2](hidden), atol=1e-4), fields.entries[0].tags
    (True, {'digit': 3})
    """
    if tags is not None and len(tags) != len(files):
        raise ValueError(f"tags must be as many as the files, got {len(tags)} and {len(files)}")
    if per_shard < 1:
        raise ValueError(f"per_shard must be at least 1, got {per_shard}")
    if not files:
        raise ValueError("files must name at least one file, got none")
    paths = [Path(file) for file in files]
    above = os.path.commonpath([path.absolute().parent for path in paths])
    names = unique_names("-".join(path.absolute().relative_to(above).with_suffix("").parts) for path in paths)
    settings = {"omega0": omega0, "hidden_omega0": hidden_omega0 or omega0, "offset": offset, "convention": convention}
    folder = SetFolder.begin(out, {"converted": "siren", **settings})
    for start in range(0, len(paths), per_shard):
        part = []
        for number in range(start, min(start + per_shard, len(paths))):
            state, architecture = as_siren(read_state(paths[number]), paths[number], settings)
            metadata = {"architecture": architecture, "convention": convention, "metrics": {}}
            metadata["tags"] = dict(tags[number]) if tags is not None else {}
            part.append(Finished(names[number], digest([str(paths[number]), settings]), state, metadata))
        folder.commit(entries_of(folder.place, part), {})
    folder.index.merge()
    return FieldSet(out)


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; nothing but tensors and plain data is read."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError, KeyError) as error:
        raise FileError(f"{path} is not a file of tensors: {str(error).splitlines()[0]}") from None
    # Training programs keep the state dict under a name such as "model" or "state_dict".
    while isinstance(found, Mapping) and not any(isinstance(value, Tensor) for value in found.values()):
        inner = [value for value in found.values() if isinstance(value, Mapping)]
        if len(inner) != 1:
            raise FileError(f"{path} holds no state dict, or several")
        found = inner[0]
    if not isinstance(found, Mapping):
        raise FileError(f"{path} holds no state dict")
    return {str(name): value for name, value in found.items() if isinstance(value, Tensor)}


def as_siren(state: Mapping[str, Tensor], path: Path, settings: Entries) -> tuple[dict[str, Tensor], Document]:
    """The tensors under the names of `staf.siren`, and its architecture."""
    weights = [tensor.float() for tensor in state.values() if tensor.dim() == 2]
    biases = [tensor.float() for tensor in state.values() if tensor.dim() == 1]
    sizes = [(tuple(weight.shape), tuple(bias.shape)) for weight, bias in zip(weights, biases, strict=False)]
    width = weights[0].shape[0] if weights else 0
    chained = all(before[0][0] == after[0][1] for before, after in itertools.pairwise(sizes))
    square = all(shape[0] == width for shape, _ in sizes[:-1])
    whole = len(weights) == len(biases) >= 3 and all(shape[:1] == bias for shape, bias in sizes)
    if not (whole and chained and square) or len(state) != 2 * len(weights):
        found = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in state.items())
        raise FileError(f"{path} must be linear layers of one width, each with a bias, got {found[:200]}")
    field = siren(
        weights[0].shape[1],
        weights[-1].shape[0],
        width=width,
        depth=len(weights) - 1,
        omega0=settings["omega0"],
        hidden_omega0=settings["hidden_omega0"],
        device="meta",
    )
    out = {}
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        layer = f"layers.{number}" if number < len(weights) - 1 else "output"
        out[f"{layer}.weight"] = weight.contiguous()
        out[f"{layer}.bias"] = bias + settings["offset"] if layer == "output" else bias.contiguous()
    return out, field.architecture  # type: ignore[return-value]
