"""How the first sines of audio depend on the signal: a sweep over their pitch for recordings of many bandwidths.

`python -m benchmarks.sweeps.first_hertz RECORDING.wav` (or .npy at 44.1 kHz) cuts pieces of the recording, adds a
low-passed one, noise, a tone, a clipped tone and a click, and fits each with first sines of every one of HERTZ and of
the plan's own (marked *): final PSNR, dB. `--seconds`, `--width`, `--steps`, `--batch` and `--rate` set the protocol.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import staf
from staf.kinds import Audio
from staf.kinds.audio.plan import audio_field
from staf.planning import recipes
from staf.planning.first_frequency import CYCLES, MINI_BATCH_CYCLES, first_hertz
from staf.planning.spectrum import audio_detail
from staf.tasks import task_for
from staf.training import run

HERTZ = (100.0, 400.0, 1600.0, 6400.0)


def low_passed(samples: np.ndarray, rate: int, hertz: float) -> np.ndarray:
    """Samples through a gaussian low-pass of `hertz`."""
    frequency = np.fft.rfftfreq(len(samples), 1 / rate)
    return np.asarray(np.fft.irfft(np.fft.rfft(samples) * np.exp(-((frequency / hertz) ** 2) / 2), len(samples)))


def catalogue(recording: Audio, seconds: float) -> dict[str, Audio]:
    """Pieces of equal length and many bandwidths."""
    rate, count = recording.rate, round(seconds * recording.rate)
    piece = {second: recording.array[second * rate : second * rate + count, 0] for second in (2, 5)}
    time = np.arange(count) / rate
    noise = np.random.default_rng(0).uniform(-1, 1, count)
    made = {
        "from 2 s": piece[2],
        "from 5 s": piece[5],
        "from 2 s, below 300 Hz": low_passed(piece[2], rate, 300),
        "noise": noise,
        "noise, below 2 kHz": low_passed(noise, rate, 2000),
        "tone of 220 Hz": np.sin(2 * np.pi * 220 * time),
        "clipped tone of 440 Hz": np.clip(3 * np.sin(2 * np.pi * 440 * time), -1, 1),
        "click of 5 kHz": np.exp(-(((time - 0.1) / 0.0005) ** 2)) * np.sin(2 * np.pi * 5000 * time),
    }
    return {name: Audio(samples.astype(np.float32), rate, name=name) for name, samples in made.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--hertz", nargs="+", type=float, default=HERTZ)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--models", nargs="+", default=["staf"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    path = options.recording
    recording = Audio(np.load(path), 44100) if path.endswith(".npy") else staf.open(path)
    print(f"staf {staf.__version__}, torch {torch.__version__}, {options.device}")
    recipe = recipes.default(steps=options.steps, batch=options.batch)
    recipe = recipe.replace(rate=options.rate, matrix_rate=options.rate)
    for name, audio in catalogue(recording, options.seconds).items():
        if options.only and name not in options.only:
            continue
        cycles = CYCLES if options.batch is None else MINI_BATCH_CYCLES
        chosen, _ = first_hertz(audio, audio.seconds, cycles, options.width)
        print(f"{name}: mean frequency {audio_detail(audio):,.0f} Hz")
        for model in options.models:
            for hertz in sorted({*options.hertz, chosen}):
                generator = torch.Generator().manual_seed(0)
                field = audio_field(model, audio, generator, hertz=hertz, width=options.width).to(options.device)
                result = run(task_for(audio, "centres").to(options.device), field, recipe, progress=False)
                mark = "*" if hertz == chosen else " "
                print(
                    f"{model:8s} {hertz:7.0f} Hz{mark} {result.metrics['psnr']:6.2f} dB, {result.stopped}", flush=True
                )


if __name__ == "__main__":
    main()
