"""Time the empirical NTK of a 199k-parameter field at 64x64 points: `python -m benchmarks.sweeps.ntk_time [DEVICE]`."""

from __future__ import annotations

import sys
import time

import torch

import staf
from staf.analysis import empirical_ntk
from staf.signals.grid import coordinates

SIDE = 64


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else ("cuda" if torch.cuda.is_available() else "cpu")
    points = coordinates((SIDE, SIDE)).to(device)
    parts = []
    for name, make in (("STAF", staf.staf), ("SIREN", staf.siren)):
        field = make(2, 3, generator=torch.Generator().manual_seed(0)).to(device)
        empirical_ntk(field, points[:64])
        seconds, peak = timed(field, points, device)
        count = sum(p.numel() for p in field.parameters())
        parts.append(f"{name} ({count:,} parameters) {seconds:.2f} s{peak}")
    where = torch.cuda.get_device_name() if device.startswith("cuda") else f"CPU, {torch.get_num_threads()} threads"
    print(f"NTK of a {SIDE}x{SIDE} image, 3 channels summed, float32, {where}: " + "; ".join(parts))


def timed(field: torch.nn.Module, points: torch.Tensor, device: str) -> tuple[float, str]:
    """Seconds for one kernel, and on a GPU the peak memory."""
    if not device.startswith("cuda"):
        start = time.perf_counter()
        empirical_ntk(field, points)
        return time.perf_counter() - start, ""
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start = time.perf_counter()
    empirical_ntk(field, points)
    torch.cuda.synchronize()
    return time.perf_counter() - start, f" (peak {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB)"


if __name__ == "__main__":
    main()
