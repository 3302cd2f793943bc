"""The paper's recording with every network, by its protocol and by ours: PSNR, spectral distance, waveforms.

    python -m paper audio --recording bach.wav --models staf siren --protocols ours paper

The recording is an audio file, or samples saved by numpy with `--rate`, for machines without audio libraries.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.data.recordings import open_recording
from paper.protocols.published import MODELS, PROTOCOLS, paper_plan
from paper.report.output import save_figure, write_tables
from paper.report.protocol_table import protocol_table
from paper.runner.experiment import Context, Data, Outcome, outcome_of
from paper.runner.options import add_models, add_protocols, add_seeds, count
from paper.runner.result import RunResult
from staf._tables import Table
from staf.comparison.result_file import array_hash

if TYPE_CHECKING:
    from staf.kinds import Audio as Recording
    from staf.planning import Plan

NAME = "audio"
DATA = "recording"
QUICK = {"steps": 3, "rate": 8000, "models": ["staf", "siren"]}
MEASURES = {"psnr": ("PSNR (dB)", 2), "log_spectral_distance": ("spectral distance (dB)", 2)}
NEEDS = "gt_bach.wav (`python -m paper.data.datasets bach`)"
TIME = "9 networks x 2 protocols: 3 min on an H200"
# The paper shows waveforms and ranks STAF first; its text has no number.
PUBLISHED: dict[str, dict[str, float]] = {}


@dataclass(frozen=True)
class AudioRun:
    """One network on the recording."""

    model: str
    protocol: str = "ours"
    seed: int = 0
    steps: int | None = None


@dataclass(frozen=True)
class Audio:
    """The experiment; `path` is the recording and `rate` that of samples saved by numpy."""

    path: str
    rate: int = 44100

    name = NAME
    version = 2
    protocol = (
        "whole recording divided by its peak; PSNR of the final weights, one fresh pass over all samples, clamped, "
        "peak 1; ours: default plan of each network; paper and released: 1,001 full-batch steps of Adam, each network "
        "with the constants and rate of its authors"
    )

    def label(self, configuration: AudioRun) -> str:
        return f"{configuration.model} {configuration.protocol} seed {configuration.seed}"

    def data(self, configuration: AudioRun) -> Data:
        recording = open_recording(self.path, self.rate)
        return Data(recording.name, array_hash(recording.array))

    def run(self, configuration: AudioRun, context: Context) -> Outcome:
        recording = open_recording(self.path, self.rate)
        plan = plan_of(recording, configuration, context.device.split(":")[0])
        arguments = {} if configuration.steps is None else {"steps": configuration.steps}
        fit = context.fit(recording, plan=plan, seed=configuration.seed, **arguments)
        digest = self.data(configuration).sha256[:12]
        target = context.share(f"recording-{digest}", {"target": _sixteen_bits(recording.array / recording.peak)})
        details = {"reasons": list(plan.reasons.values()), "rate": recording.rate}
        reconstruction = _sixteen_bits(fit.reconstruction.array / recording.peak)
        arrays = {"reconstruction": reconstruction}
        return outcome_of(fit, points=recording.samples, details=details, arrays=arrays, shared=(target,))


def _sixteen_bits(samples: np.ndarray) -> np.ndarray:
    """Samples in [-1, 1] for figures, at half the size of float32 and -98 dB."""
    return np.rint(np.clip(samples, -1, 1) * 32767).astype(np.int16)


def plan_of(recording: Recording, configuration: AudioRun, device: str) -> Plan:
    """The plan of a run's network under its protocol."""
    from staf.planning import Budget, plan

    if configuration.protocol == "ours":
        return plan(recording, Budget(steps=configuration.steps), device=device, model=configuration.model)
    return paper_plan(recording, configuration.model, "audio", released=configuration.protocol == "released")


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network and protocol."""
    return protocol_table("Audio, final weights, peak 1", results, MEASURES, PUBLISHED)


def figure(results: Sequence[RunResult]) -> Any:
    """Waveform, error and spectrogram of the first run of each network and protocol, best first."""
    from staf.kinds.audio.figure import audio_comparison

    order = {(row[0], row[1]): place for place, row in enumerate(table(results).rows)}
    first: dict[tuple[str, str], RunResult] = {}
    for result in results:
        first.setdefault((str(result.configuration["model"]), str(result.configuration["protocol"])), result)
    chosen = [first[key] for key in sorted(first, key=lambda key: order[key])]
    rows = {
        f"{r.configuration['model']}, {r.configuration['protocol']}  {r.metrics['psnr']:.1f} dB": r.arrays()
        for r in chosen
    }
    target = next(iter(rows.values()))["target"] / 32767
    waves = {name: arrays["reconstruction"] / 32767 for name, arrays in rows.items()}
    return audio_comparison(target, waves, int(chosen[0].details["rate"]))


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown and the waveforms as PNG, from the results alone."""
    written = write_tables(NAME, results, [table(results)], folder)
    return [written, save_figure(figure(results), folder / f"{NAME}.png", dpi=110)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--recording", default="", metavar="PATH", help="an audio file, or samples as .npy")
    parser.add_argument("--rate", type=count, default=44100, metavar="HZ", help="of samples saved as .npy")
    add_models(parser, MODELS)
    add_protocols(parser, PROTOCOLS, ("ours", "paper"))
    add_seeds(parser)
    parser.add_argument("--steps", type=count, default=None, metavar="N", help="steps of each fit")


def sweep(arguments: argparse.Namespace) -> tuple[Audio, list[AudioRun]]:
    """The experiment and its configurations from the options."""
    products = itertools.product(arguments.models, arguments.protocols, arguments.seeds)
    runs = [AudioRun(model, protocol, seed, arguments.steps) for model, protocol, seed in products]
    recording = open_recording(arguments.recording, arguments.rate)
    for run in runs:
        plan_of(recording, run, "cpu")
    return Audio(arguments.recording, arguments.rate), runs
