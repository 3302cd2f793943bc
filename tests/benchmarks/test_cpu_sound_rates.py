from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch

from benchmarks.sweeps.cpu_sound_rates import COLUMNS, main, sounds
from staf.nn import NETWORKS

LOG = Path(__file__).parents[2] / "docs" / "results" / "data" / "cpu-sound-rates.csv"


def rows(log):
    with log.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_log_is_completed_and_what_it_has_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    log = tmp_path / "log.csv"
    words = ["sweep", str(log), "--sounds", "chirp", "--models", "siren", "--steps", "1", "--rates", "1e-3"]
    monkeypatch.setattr("sys.argv", words)
    main()
    first = rows(log)
    assert [(row["network"], row["sound"], row["batch"]) for row in first] == [("siren", "chirp", "8192")]
    assert tuple(first[0]) == COLUMNS
    monkeypatch.setattr("sys.argv", [*words, "2e-3"])
    main()
    assert rows(log)[:1] == first
    assert [row["rate"] for row in rows(log)] == ["0.001", "0.002"]


def test_sounds_are_a_second_long_and_not_clipped():
    for wave in sounds().values():
        assert (wave.shape, wave.dtype) == ((16_000,), np.float32)
        assert np.isclose(np.abs(wave).max(), 0.8)


def test_stafs_rate_is_the_best_of_the_search():
    search = [row for row in rows(LOG) if row["network"] == "staf" and row["steps"] == "150"]
    for sound in ("voice", "bell"):
        best = max((row for row in search if row["sound"] == sound), key=lambda row: float(row["psnr"]))
        assert float(best["rate"]) == NETWORKS["staf"].rates.audio_mini_batch
