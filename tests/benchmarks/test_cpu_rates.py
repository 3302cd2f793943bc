from __future__ import annotations

import csv

import numpy as np
import torch

from benchmarks.sweeps.cpu_rates import COLUMNS, MODELS, RATES, main
from staf.kinds import Image


def rows(log):
    with log.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_log_is_completed_and_what_it_has_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    y, x = np.mgrid[:8, :8] / 8
    photo = Image((np.stack([y, x, x * y], -1) * 255).astype(np.uint8)).save(tmp_path / "photo.png")
    log = tmp_path / "log.csv"
    words = ["cpu_rates", str(log), str(photo), "--models", "siren", "wire", "--steps", "2", "--rates", "1e-3"]
    monkeypatch.setattr("sys.argv", words)
    main()
    first = rows(log)
    assert [(row["network"], row["optimiser"]) for row in first] == [("siren", "muon"), ("wire", "adam")]
    assert all(tuple(row) == COLUMNS and row["machine"].startswith("one thread of") for row in first)
    monkeypatch.setattr("sys.argv", [*words, "2e-3"])
    main()
    both = rows(log)
    assert both[:2] == first
    assert [(row["network"], row["rate"]) for row in both[2:]] == [("siren", "0.002"), ("wire", "0.002")]
    assert both[0]["psnr"] != both[2]["psnr"], "the rate has an effect"
    monkeypatch.setattr("sys.argv", [*words, "4e-3", "--limit", "-1"])
    main()
    assert rows(log) == both


def test_every_network_of_pictures_gets_the_same_rates():
    assert {"staf", "siren", "kan", "pemlp"} < set(MODELS)
    assert RATES == (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
