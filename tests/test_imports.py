"""Importing staf is quiet, quick and light, and needs torch, numpy and safetensors alone."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


HEAVY = ["PIL", "tifffile", "imagecodecs", "skimage", "scipy", "matplotlib", "tyro", "rich", "pooch", "torchmetrics"]
HEAVY += ["triton", "soundfile", "trimesh"]


def test_import_is_quiet_and_loads_nothing_heavy():
    out = run(
        "import sys, staf; print(sorted(set(sys.modules) & set("
        + repr([*HEAVY, "torch"])
        + "))); print(len(dir(staf)) > 30)"
    )
    assert out == "[]\nTrue\n"


def test_a_fit_of_an_array_needs_torch_numpy_and_safetensors_alone():
    blocked = [*HEAVY, "jaxtyping", "beartype"]
    code = f"""
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import numpy as np, torch
threads, state = torch.get_num_threads(), torch.random.get_rng_state()
import staf
from staf.kinds import Image
fit = staf.fit(Image(np.random.default_rng(0).random((6, 5, 3), dtype=np.float32)),
               staf.staf(2, 3, width=8, depth=2, generator=torch.Generator()),
               staf.recipes.default(steps=2), progress=False)
assert (threads, True) == (torch.get_num_threads(), torch.equal(state, torch.random.get_rng_state()))
assert not torch.cuda.is_initialized()
import tempfile, pathlib
path = pathlib.Path(tempfile.mkdtemp()) / "f.safetensors"
fit.save(path)
assert torch.equal(staf.load(path)(torch.zeros(1, 2)), fit.field(torch.zeros(1, 2)))
print("ok")
"""
    assert run(code) == "ok\n"


def test_import_time():
    code = """
import time
start = time.perf_counter()
import staf
print(time.perf_counter() - start)
"""
    assert float(run(code)) < 0.2


def test_every_public_name_resolves():
    import staf

    for name in staf.__all__:
        assert getattr(staf, name) is not None
    assert set(staf.__all__) <= set(dir(staf))
