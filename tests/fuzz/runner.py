"""Starts a worker, and another when one is killed by what it opened."""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).parents[2]
# A worker that says nothing for so long waits for something.
SILENT = 300.0


@dataclass(frozen=True)
class Finding:
    """A file that did not end as it must."""

    target: str
    kind: str
    detail: str
    data: bytes | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data or b"").hexdigest()[:12]


def run(
    folder: Path,
    seconds: float,
    seed: int,
    targets: Sequence[str] = (),
    show: Callable[[dict[str, int], list[Finding]], None] = lambda counts, found: None,
) -> tuple[dict[str, int], list[Finding]]:
    """Damage files for so many seconds, not counting the start; returns how many of each target, and the failures."""
    total: Counter[str] = Counter()
    found: list[Finding] = []
    left, round_ = seconds, 0
    while left > 0:

        def shown(counts: Counter[str], more: list[Finding], before: Counter[str] = total) -> None:
            show(before + counts, [*found, *more])

        counts, spent, more = _one_worker(folder / f"{round_}", left, seed + round_, targets, shown)
        total = total + counts
        found.extend(more)
        left -= max(spent, 0.1)
        round_ += 1
    return dict(total), found


def _one_worker(
    folder: Path, seconds: float, seed: int, targets: Sequence[str], show: Callable[[Counter[str], list[Finding]], None]
) -> tuple[Counter[str], float, list[Finding]]:
    command = [sys.executable, "-m", "tests.fuzz.worker", str(folder), "--seed", str(seed), "--seconds", str(seconds)]
    # Files of many threads would measure the wait for each other.
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        [*command, "--targets", *targets], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    counts: Counter[str] = Counter()
    found: list[Finding] = []
    start: float | None = None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        while True:
            ready, _, _ = select.select([process.stdout], [], [], SILENT)
            line = process.stdout.readline() if ready else ""
            if not line:
                break
            told = json.loads(line)
            if "ready" in told:
                start = time.monotonic()
            elif "counts" in told:
                counts = Counter(told["counts"])
            else:
                data = Path(told["path"]).read_bytes() if "path" in told else None
                found.append(Finding(told["target"], told["kind"], told["detail"], data))
            show(counts, found)
        hung = not ready
        if not hung:
            process.wait(SILENT)
    finally:
        if process.poll() is None:
            process.terminate() if start is None else process.kill()
        process.wait()
    if start is None:
        raise RuntimeError(f"the worker could not start: {process.stderr.read()[-2000:]}")
    if hung or process.returncode != 0:
        target, path = (folder / "current").read_text().split("\n")
        data = Path(path).read_bytes()
        kind = "waits" if hung else "killed"
        detail = "" if hung else signal.Signals(-process.returncode).name if process.returncode < 0 else "exit"
        found.append(Finding(target, kind, detail, data))
    process.stdout.close()
    process.stderr.close()
    return counts, time.monotonic() - start, found
