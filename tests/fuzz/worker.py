"""One process that damages files and opens them, and reports each that does not end as it must.

It must end in a signal or in an error of one sentence, within 2 seconds of the processor and 512 MiB, above what the
decoded data need. A process that the system kills is reported by whoever started it: the last input lies in its folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tests.fuzz.target import ALLOWED, Target, decoded_bytes
from tests.fuzz.targets import make_targets

SECONDS, MEBIBYTES = 2.0, 512.0
# Decoded bytes that a second of the processor is given for, beyond the first two.
BYTES_A_SECOND = 20e6
KILLED_AFTER = 20.0
ADDRESS_SPACE = 3 << 30
MOST_SEEDS = 400


def outcome(target: Target, data: bytes, path: Path) -> tuple[str, str]:
    """("fine", what it ended in), or (the kind of failure, what it was)."""
    path.write_bytes(data)
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    before, start = _memory("VmRSS"), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, KILLED_AFTER)
    decoded, told = 0, ""
    try:
        result = target.open(path)
        decoded, told = decoded_bytes(result), type(result).__name__
        del result
    except ALLOWED as error:
        told = str(error)
        if "\n" in told or len(told) > 1000 or not told.isprintable():
            return "message", repr(told[:300])
        if "not enough memory" in told:
            return "memory", told
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return "exception", f"{type(error).__name__}: {str(error)[:200]} ({Path(frame.filename).name}:{frame.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds, grown = time.process_time() - start, _memory("VmHWM") - before
    if seconds > SECONDS + decoded / BYTES_A_SECOND:
        return "slow", f"{seconds:.1f} s for {decoded:,} bytes ({told[:100]})"
    if grown > MEBIBYTES + decoded / 2**20:
        return "memory", f"{grown:.0f} MiB for {decoded:,} bytes ({told[:100]})"
    return "fine", told


def _memory(name: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))


def smaller(target: Target, data: bytes, path: Path, kind: str, detail: str) -> bytes:
    """The same failure from fewer bytes, as far as a few hundred attempts go."""
    where = detail.rpartition("(")[2]
    attempts, step = 300, max(1, len(data) // 2)
    while step and attempts:
        at, shrunk = 0, False
        while at < len(data) and attempts:
            attempts -= 1
            fewer = data[:at] + data[at + step :]
            found, told = outcome(target, fewer, path)
            if found == kind and (kind != "exception" or told.rpartition("(")[2] == where):
                data, shrunk = fewer, True
            else:
                at += step
        step = step if shrunk and step > 1 else step // 2
    return data


def template(told: str) -> str:
    """A message without its numbers and names, to tell new outcomes from known ones."""
    return re.sub(r"'[^']*'|\d[\d.,]*", "#", told)[-160:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", nargs="*", default=[])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    targets = make_targets(options.folder, options.targets)
    report = os.fdopen(os.dup(1), "w", buffering=1)
    # Decoders in C write their own complaints.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    for target in targets:
        for seed in target.seeds:
            kind, detail = outcome(target, seed, options.folder / target.file)
            if kind != "fine":
                print(json.dumps({"target": target.name, "kind": kind, "detail": detail, "seed": True}), file=report)
    limit = int(_memory("VmSize") * 2**20) + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    chance = random.Random(options.seed)
    counts: Counter[str] = Counter()
    pools = {target.name: list(target.seeds) for target in targets}
    known: dict[str, set[str]] = {target.name: set() for target in targets}
    found: set[str] = set()
    end, said = time.monotonic() + options.seconds, time.monotonic()
    print(json.dumps({"ready": len(targets)}), file=report)
    spent = dict.fromkeys(pools, 0.0)
    while time.monotonic() < end:
        for _ in range(10):
            # Each target gets the same time.
            target = min(targets, key=lambda target: spent[target.name])
            began = time.process_time()
            data = target.input(chance, pools[target.name])
            path = options.folder / target.file
            (options.folder / "current").write_text(f"{target.name}\n{path}")
            kind, detail = outcome(target, data, path)
            spent[target.name] += time.process_time() - began
            counts[target.name] += 1
            if kind == "fine":
                # An outcome not seen before is a place to search from.
                if template(detail) not in known[target.name] and len(known[target.name]) < MOST_SEEDS:
                    known[target.name].add(template(detail))
                    pools[target.name].append(data)
            elif (name := f"{target.name} {kind} {template(detail)}") not in found:
                found.add(name)
                data = smaller(target, data, path, kind, detail)
                kept = options.folder / f"found-{target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
                kept.write_bytes(data)
                line = {"target": target.name, "kind": kind, "detail": detail, "path": str(kept)}
                print(json.dumps(line), file=report)
        if time.monotonic() - said > 2:
            said = time.monotonic()
            print(json.dumps({"counts": counts}), file=report)
    print(json.dumps({"counts": counts}), file=report)


if __name__ == "__main__":
    sys.exit(main())
