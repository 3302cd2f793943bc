"""The file of a fitted field: safetensors whose metadata is enough to rebuild the field without data or pickle.

The header and the architecture are checked before any tensor is read or allocated.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from staf._documents import Document, Record
from staf._files import atomic_path
from staf.nn import networks
from staf.storage.header import FLOATS, FORMAT_VERSION, METADATA_KEY, FileError, Header, read_header

# Names in the metadata of a field that say what the file holds and how it was trained; a task may not use them.
RESERVED = frozenset(
    ("format", "complex", "kind", "architecture", "module", "seed", "from_seed", "recipe", "steps", "stopped")
) | frozenset(("metrics", "seconds", "device", "versions", "fingerprint"))
# What only checkpoints hold, and the prefix of their weights.
OF_CHECKPOINTS = frozenset(("step", "elapsed", "best_loss", "best_step", "position", "chunk", "fingerprint"))
WEIGHTS = "field/"
_COMPUTED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}


def write(path: str | os.PathLike[str], tensors: dict[str, Tensor], metadata: Document) -> None:
    """Write tensors and JSON-able metadata, whole or not at all."""
    data = encode(tensors, metadata)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def encode(tensors: dict[str, Tensor], metadata: Document) -> bytes:
    """The bytes of a file with tensors and JSON-able metadata. Complex tensors are stored as pairs of reals."""
    from safetensors.torch import save

    plain: dict[str, Tensor] = {}
    complex_names = []
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu()
        if tensor.is_complex():
            complex_names.append(name)
            tensor = torch.view_as_real(tensor.resolve_conj())
        plain[name] = tensor.contiguous().clone()
    document = {**metadata, "format": FORMAT_VERSION, "complex": complex_names}
    # safetensors reports a full disk by an error of its own; Python's file raises the OSError that has a reason.
    return save(plain, metadata={METADATA_KEY: json.dumps(document)})


def read_tensors(header: Header, prefix: str = "") -> dict[str, Tensor]:
    """The tensors whose name begins with `prefix`, without it."""
    from safetensors import SafetensorError, safe_open

    pairs = set(header.metadata.get("complex", []))
    out = {}
    try:
        with safe_open(header.path, framework="pt") as file:
            for name in header.shapes:
                if name.startswith(prefix):
                    # Tensors lie in the mapped file at multiples of eight bytes; complex128 crashes on less than 16.
                    tensor = file.get_tensor(name).clone()
                    out[name[len(prefix) :]] = torch.view_as_complex(tensor) if name in pairs else tensor
    except (SafetensorError, OSError) as error:
        raise FileError(f"{header.path} cannot be read: {error}") from None
    return out


@dataclass(frozen=True)
class FieldMetadata:
    """The metadata in the file of a field, with checked types."""

    signal: Document | None
    convention: str
    metrics: dict[str, float]
    seed: int | None
    steps: int | None
    seconds: float | None
    recipe: Document | None
    stopped: str | None
    notes: list[str]

    @classmethod
    def of(cls, header: Header) -> FieldMetadata:
        """The metadata of a header; entries may be missing, and are refused where they are something else."""
        data = {"signal": None, "convention": "centres", "metrics": {}, "seed": None, "steps": None, "seconds": None,
                "recipe": None, "stopped": None, "notes": [], **header.metadata}  # fmt: skip
        try:
            record = Record(data)
            for name in ("signal", "recipe"):
                if data[name] is not None:
                    record.record(name)
            if record.text("convention") not in ("centres", "ends"):
                raise ValueError(f"convention must be 'centres' or 'ends', got {record.text('convention')!r}")
            measured = data["metrics"]
            if not isinstance(measured, dict) or not all(_is_number(value) for value in measured.values()):
                raise ValueError("metrics must be numbers by name")
            return cls(
                data["signal"], record.text("convention"), measured,
                None if data["seed"] is None else record.whole("seed", least=-(2**63), most=2**64),
                None if data["steps"] is None else record.whole("steps"),
                None if data["seconds"] is None else record.number("seconds", least=0.0),
                data["recipe"],
                None if data["stopped"] is None else record.text("stopped"),
                record.texts("notes"),
            )  # fmt: skip
        except ValueError as error:
            raise FileError(f"{header.path} has a broken header: {error}") from None


def _is_number(value: object) -> bool:
    """Whether a measure is a number, which may be infinite (a perfect fit)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def save_field(path: str | os.PathLike[str], field: nn.Module, metadata: Document) -> None:
    """Save a field for `load_field`. For a module that is not from this library, only the weights are saved."""
    module, document = saved_form(field, {**metadata, "kind": "field"})
    write(path, module.state_dict(), document)


def saved_form(field: nn.Module, metadata: Document) -> tuple[nn.Module, Document]:
    """The module whose weights are saved, baked if it can be, and the metadata with its architecture or its class."""
    baked = getattr(field, "baked", None)
    module = baked() if callable(baked) else field
    architecture = getattr(module, "architecture", None)
    document = {**metadata, "architecture": architecture}
    if architecture is None:
        document["module"] = f"{type(module).__module__}.{type(module).__qualname__}"
    return module, document


def load_field(path: str | os.PathLike[str], module: nn.Module | None = None) -> tuple[nn.Module, Document]:
    """The module in a file, and its metadata. Give `module` if the network is not from this library.

    The checkpoint of an interrupted fit can also be opened, with the weights of its last step. A given module keeps its
    device, its types and its tied weights; the values are copied into it.
    """
    whole = read_header(path)
    header, prefix = whole, ""
    if whole.metadata.get("kind") == "checkpoint":
        header, prefix = _field_of_checkpoint(whole), WEIGHTS
    elif whole.metadata.get("kind") != "field":
        raise FileError(f"{path} holds neither a fitted field nor the checkpoint of a fit")
    FieldMetadata.of(header)
    own = module is None
    if module is None:
        module = build_empty(header)
        if prefix and hasattr(module, "bind"):
            raise FileError(f"{path}: this network reads its signal while it is trained; resume the fit to render it")
        if len(floats := {kind for kind in header.types.values() if kind in FLOATS}) > 1:
            raise FileError(f"{path} mixes tensors of {' and '.join(sorted(floats))}, which no network of staf does")
    compare_shapes(header, module.state_dict())
    tensors = read_tensors(whole, prefix)
    if own:
        # Half precision is for storage: the formulas are computed in float32 or float64.
        tensors = {name: tensor.to(_COMPUTED.get(tensor.dtype, tensor.dtype)) for name, tensor in tensors.items()}
    module.load_state_dict(tensors, assign=own)
    return module, header.metadata


def _field_of_checkpoint(header: Header) -> Header:
    """A checkpoint's header as that of the field it holds, with the weights of its last step."""
    weights = header.part(WEIGHTS)
    if not weights.shapes:
        raise FileError(f"{header.path} is not a complete checkpoint: it holds no weights")
    metadata = {name: value for name, value in weights.metadata.items() if name not in OF_CHECKPOINTS}
    metadata["kind"], metadata["steps"] = "field", header.metadata.get("step")
    return replace(weights, metadata=metadata)


def build_empty(header: Header) -> nn.Module:
    architecture = header.metadata.get("architecture")
    if architecture is None:
        name = header.metadata.get("module", "a module of your own")
        raise FileError(
            f"{header.path} holds the weights of {name!r}, which is not one of staf's networks: build it and pass it, "
            "staf.load(path, module=your_module)"
        )
    try:
        with torch.device("meta"):
            return networks.build(architecture)
    except (ValueError, TypeError) as error:
        raise FileError(f"{header.path} names a network that cannot be built: {error}") from None


def compare_shapes(header: Header, expected: dict[str, Tensor]) -> None:
    pairs = header.metadata.get("complex", [])
    for name in sorted(set(expected) | set(header.shapes)):
        if name not in header.shapes:
            raise FileError(f"{header.path} lacks the tensor {name} of its own architecture")
        if name not in expected:
            raise FileError(f"{header.path} holds a tensor {name} that its architecture does not have")
        shape = tuple(expected[name].shape) + ((2,) if expected[name].is_complex() else ())
        if expected[name].is_complex() != (name in pairs) or shape != header.shapes[name]:
            raise FileError(
                f"{header.path}: tensor {name} has shape {header.shapes[name]}, its architecture needs {shape}"
            )
        real = expected[name].is_floating_point() or expected[name].is_complex()
        if real != (header.types[name] in FLOATS):
            raise FileError(f"{header.path}: tensor {name} holds {header.types[name]}, not {expected[name].dtype}")
