"""Time the voxelisation of meshes at 512^3: `python -m benchmarks.sweeps.voxelise_time MESH [MESH ...] [--open]`.

Each mesh runs in a process of its own, without the cache, so that the peak of its memory is its own. `--open` also
times the generalised winding numbers that surfaces with holes need, and counts the voxels where the two differ.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

RESOLUTION = 512


def main() -> None:
    paths = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    if not paths:
        raise SystemExit(__doc__)
    if "--one" in sys.argv:
        one(paths[0], with_open="--open" in sys.argv)
        return
    for path in paths:
        words = [word for word in sys.argv[1:] if word == "--open"]
        subprocess.run([sys.executable, __file__, str(path), "--one", *words], check=True)


def one(path: Path, with_open: bool) -> None:
    """One line for one mesh."""
    import staf
    from staf.kinds.shape.mesh import Mesh
    from staf.kinds.shape.voxelise import voxelise

    before = peak()
    start = time.perf_counter()
    shape = staf.open(path).sampled(RESOLUTION)
    opened = time.perf_counter()
    volume, offset = shape._voxelised()
    done = time.perf_counter()
    packed = volume.bits.nbytes / 2**20
    print(
        f"{path.name}: {len(shape.mesh.faces):,} faces at {RESOLUTION}^3, cropped to {volume.shape} at {offset}: "
        f"read in {opened - start:.2f} s, voxelised in {done - opened:.2f} s, {packed:.1f} MiB packed, "
        f"{volume.count():,} inside; peak memory {peak() / 2**20:.0f} MiB ({before / 2**20:.0f} before)",
        flush=True,
    )
    if with_open:
        mesh = Mesh(shape.frame.to_index(shape.mesh.vertices) + 0.5, shape.mesh.faces)
        start = time.perf_counter()
        other = voxelise(mesh, volume.shape, "open")
        seconds = time.perf_counter() - start
        differ = int((other.array() != volume.array()).sum())
        print(f"  as an open surface: {seconds:.1f} s, {differ} voxels differ; peak memory {peak() / 2**20:.0f} MiB")


def peak() -> int:
    """The most bytes this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
