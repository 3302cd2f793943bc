"""Damaged files without end: `make fuzz`, or `python -m tests.fuzz --seconds 60 --targets png tiff`.

Prints how many files were opened and how fast, and every failure. Its file is kept in tests/fuzz/corpus, as small as it
could be made, and is opened by the tests from then on.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.runner import CORPUS, Finding, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long; without it, until Ctrl-C")
    parser.add_argument("--seed", type=int, default=None, help="of the first process; by default another one each time")
    parser.add_argument("--targets", nargs="*", default=[], help="the loaders; by default all")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    start, told, findings = time.monotonic(), 0.0, []

    def show(counts: dict[str, int], found: list[Finding]) -> None:
        nonlocal told
        for finding in found[len(findings) :]:
            findings.append(finding)
            kept = _keep(finding)
            print(f"FOUND {finding.target}: {finding.kind}: {finding.detail}\n      {kept}", flush=True)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            total, seconds = sum(counts.values()), told - start
            print(f"{total:>9,} files, {total / seconds:.0f} a second, {len(findings)} failures", flush=True)

    folder = Path(tempfile.mkdtemp(prefix="staf-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        counts, found = run(folder, options.seconds, seed, options.targets, show)
    except KeyboardInterrupt:
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(counts, found)
    print(", ".join(f"{name} {count:,}" for name, count in counts.items()))
    print(f"{sum(counts.values()):,} files in {time.monotonic() - start:.0f} s, {len(found)} failures")
    return 1 if found else 0


def _keep(finding: Finding) -> Path | None:
    if finding.data is None:
        return None
    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"{finding.target}-{finding.digest}"
    path.write_bytes(finding.data)
    return path


if __name__ == "__main__":
    sys.exit(main())
