"""The rates of mini-batches of recordings on a CPU: three networks, the same trials, by the CPU's plan.

`python -m benchmarks.sweeps.cpu_sound_rates LOG [--sounds voice bell] [--models staf] [--rates 5e-4]` fits each sound
with each network at each rate, on one thread of a CPU. What `LOG` (docs/results/data/cpu-sound-rates.csv) already has
is not run again; every new fit is a line at its end: PSNR (dB) of the final weights over all samples, seed 0. The
sounds are made here: a second at 16 kHz each. Rates were chosen by `voice` and `bell`; `drum` and `chirp` are for
checking the choice.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row
from staf._machine import cpu_model
from staf.planning import Budget, plan

KEYS = ("network", "sound", "steps", "rate")
COLUMNS = (*KEYS, "psnr", "optimiser", "batch", "machine")
RATES = {"staf": (5e-4, 7.5e-4, 1.5e-3), "siren": (2.5e-4, 5e-4, 1e-3), "finer": (2.5e-4, 5e-4, 1e-3)}
HERTZ = 16_000


def sounds() -> dict[str, np.ndarray]:
    """A voice of gliding formants, a bell of four partials, a drum, a rising chirp; each ends at 0.8 of full scale."""
    time = np.arange(HERTZ) / HERTZ
    generator = np.random.default_rng(7)
    drum = np.zeros(HERTZ)
    for k in range(6):
        since = np.clip(time - k / 6, 0, None)
        beat = np.exp(-25 * since) * np.sin(2 * np.pi * (60 + 120 * np.exp(-30 * since)) * since)
        drum += (time >= k / 6) * (beat + 0.4 * np.exp(-60 * since) * generator.standard_normal(HERTZ))
    partials = ((1, 3, 523, 0), (0.6, 4, 1211, 1), (0.4, 6, 2093, 2), (0.3, 8, 3457, 0.3))
    bell = sum(a * np.exp(-decay * time) * np.sin(2 * np.pi * hertz * time + phi) for a, decay, hertz, phi in partials)
    pitch = 120 * (1 + 0.2 * np.sin(2 * np.pi * 1.3 * time))
    phase = 2 * np.pi * np.cumsum(pitch) / HERTZ
    formant = 700 + 400 * np.sin(2 * np.pi * 2 * time)
    voice = sum(np.sin(k * phase) / k * np.exp(-(((k * pitch - formant) / 600) ** 2)) for k in range(1, 30))
    voice = voice * (0.5 + 0.5 * np.sin(2 * np.pi * 3 * time)) + 0.003 * generator.standard_normal(HERTZ)
    chirp = np.sin(2 * np.pi * (100 * time + 1500 * time**2)) * np.hanning(HERTZ)
    made = {"voice": voice, "bell": bell, "drum": drum, "chirp": chirp}
    return {name: (0.8 * wave / np.abs(wave).max()).astype(np.float32) for name, wave in made.items()}


def fit(wave: np.ndarray, model: str, steps: int, rate: float) -> Row:
    """One network at one rate."""
    audio = staf.Audio(wave, HERTZ)
    chosen = plan(audio, Budget(steps=steps), device="cpu", model=model)
    recipe = chosen.recipe.replace(rate=rate, matrix_rate=rate)
    found = staf.fit(audio, field=chosen.field(0), recipe=recipe, seed=0, progress=False, device="cpu")
    return {"psnr": f"{found.metrics['psnr']:.2f}", "optimiser": recipe.optimiser, "batch": recipe.batch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--sounds", nargs="+", choices=sounds(), default=["voice", "bell"])
    parser.add_argument("--models", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--rates", nargs="+", type=float, help="for every network; by default each has its own three")
    parser.add_argument("--steps", nargs="+", type=int, default=[150])
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not given.log.exists():
        given.log.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with given.log.open(encoding="utf-8", newline="") as file:
        done = {(r["network"], r["sound"], int(r["steps"]), float(r["rate"])) for r in csv.DictReader(file)}
    waves = sounds()
    for model, name, steps in itertools.product(given.models, given.sounds, given.steps):
        for rate in given.rates or RATES[model]:
            if (model, name, steps, rate) in done:
                continue
            about = {"network": model, "sound": name, "steps": steps, "rate": rate, "machine": cpu_model()}
            row = {**about, **fit(waves[name], model, steps, rate)}
            with given.log.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
