"""What the index of a large set costs: `python -m benchmarks.sweeps.set_index --entries 1000000 --out RESULT.json`.

Entries as those of faces are committed in segments of 128, as a GPU worker does (two shards a unit), read again, merged
into one segment, and opened as a `FieldSet`. Seconds are of the processor; memory is the peak of a process that reads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from staf import FieldSet
from staf._machine import provenance
from staf.storage.sets import Entry, SetFolder
from staf.storage.sets.index import INDEX, SetIndex
from staf.storage.sets.place import Place

PER_SEGMENT = 128


def entry(number: int) -> Entry:
    """An entry as long as that of a face."""
    signal = {"kind": "image", "name": f"{number:06d}", "shape": [128, 128], "channels": 3, "dtype": "uint8"}
    shard = f"{number // PER_SEGMENT:024x}.safetensors"
    metrics = {"psnr": 30 + number / 7, "ssim": 1 / (1 + number / 7)}
    return Entry(f"{number:06d}-000", f"{number:064x}", shard, number % PER_SEGMENT, metrics, {}, signal)


def write(folder: Path, count: int) -> dict[str, float]:
    index = SetFolder.begin(str(folder), {}, resume=False, overwrite=False).index
    began = time.process_time()
    for first in range(0, count, PER_SEGMENT):
        index.commit([entry(number) for number in range(first, min(first + PER_SEGMENT, count))], {})
    written = time.process_time()
    files = list((folder / INDEX).iterdir())
    size = sum(file.stat().st_size for file in files)
    return {"segments": len(files), "bytes_an_entry": round(size / count, 1), "write": round(written - began, 2)}


def read(folder: Path) -> dict[str, float]:
    began = time.process_time()
    index = SetIndex(Place(str(folder)))
    opened = time.process_time()
    index.merge()
    merged = time.process_time()
    del index
    again = time.process_time()
    fields = FieldSet(folder)
    done = time.process_time()
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    times = {"read_segments": opened - began, "merge": merged - opened, "field_set": done - again}
    return {
        "fields": len(fields),
        **{name: round(took, 2) for name, took in times.items()},
        "peak_mebibytes": round(peak),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        print(json.dumps(read(options.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        result = write(Path(folder) / "set", options.entries)
        words = [sys.executable, "-m", __spec__.name, "--read", f"{folder}/set"]
        result |= json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    document = {**provenance("cpu"), "settings": {"entries": options.entries, "per_segment": PER_SEGMENT}, **result}
    print(json.dumps(result), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
