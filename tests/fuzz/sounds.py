"""Damaged recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds import Audio
from tests.fuzz.mutation import with_ogg_sums
from tests.fuzz.target import Target


def _sounds(name: str, suffix: str, ways: Sequence[dict[str, Any]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        import soundfile

        seeds = []
        time = np.arange(3000) / 8000
        wave = 0.3 * np.sin(2 * np.pi * 440 * time) + 0.1 * np.random.default_rng(0).normal(size=3000)
        for channels in (1, 2):
            samples = np.repeat(wave[:, None], channels, 1).clip(-0.99, 0.99).astype(np.float32)
            for rate in (8000, 44100):
                path = Audio(samples, rate).save(folder / f"a{suffix}")
                seeds.append(path.read_bytes())
            for way in ways:
                soundfile.write(folder / f"b{suffix}", samples, 44100, **way)
                seeds.append((folder / f"b{suffix}").read_bytes())
        return Target(name, f"a{suffix}", seeds, staf.open, **options)

    return make


MAKERS: dict[str, Callable[[Path], Target]] = {
    "wav": _sounds("wav", ".wav", [{"subtype": "FLOAT"}, {"subtype": "IMA_ADPCM"}, {"subtype": "ULAW"}], magic=b"RIFF"),
    "flac": _sounds("flac", ".flac", [{"subtype": "PCM_24"}], magic=b"fLaC"),
    "ogg": _sounds("ogg", ".ogg", [], magic=b"OggS", repair=with_ogg_sums),
    "mp3": _sounds("mp3", ".mp3", [{"format": "MP3", "bitrate_mode": "VARIABLE"}]),
}
