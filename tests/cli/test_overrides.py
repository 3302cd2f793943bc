"""`staf fit --width 16 --rate 1e-3 ...`: every option changes what it names, and the run can be repeated."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
import torch

import staf
from staf.cli import main
from staf.kinds import Image

SMALL = ["--width", "12", "--depth", "2"]


@pytest.fixture
def photo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image(np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8)).save("photo.png")
    return "photo.png"


def fitted(*words):
    code = main(["fit", "photo.png", "--steps", "2", "--device", "cpu", "--out", "run", "--overwrite", *words])
    assert code == 0
    with open("run/config.json", encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize(
    ("words", "entry", "value"),
    [
        (["--terms", "3"], "terms", 3),
        (["--omega0", "12.5"], "omega0", 12.5),
        (["--set", "terms=2"], "terms", 2),
    ],
)
def test_arguments_of_the_network(photo, words, entry, value):
    made = fitted(*SMALL, *words)["architecture"]["arguments"]
    assert (made["width"], made["depth"], made[entry]) == (12, 2, value)


@pytest.mark.parametrize(
    ("words", "entries"),
    [
        (["--rate", "0.004"], {"rate": 0.004, "matrix_rate": 0.004}),
        (["--batch", "10"], {"batch": 10}),
        (["--batch", "1000"], {"batch": None}),
        (["--optimiser", "adam"], {"optimiser": "adam"}),
        (["--optimiser", "soap"], {"optimiser": "soap"}),
        (["--precision", "fp32"], {"precision": "fp32"}),
        (["--set", "frequency_rate=7", "--set", "convention=ends"], {"frequency_rate": 7, "convention": "ends"}),
    ],
)
def test_entries_of_the_recipe(photo, words, entries):
    config = fitted(*SMALL, *words)
    assert {name: config["recipe"][name] for name in entries} == entries
    assert any("as asked" in reason for reason in config["plan"]["reasons"])


def test_the_command_of_a_changed_run_repeats_it(photo):
    command = fitted(*SMALL, "--rate", "0.002", "--set", "terms=2")["reproduce"]["command"]
    first = staf.load("run/model.safetensors")
    assert main([*shlex.split(command)[1:], "--out", "again"]) == 0
    again = staf.load("again/model.safetensors")
    for one, other in zip(first.module.parameters(), again.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_config_repeats_a_run_and_takes_changes(photo):
    fitted(*SMALL, "--model", "siren", "--seed", "3")
    assert main(["fit", "photo.png", "--config", "run/config.json", "--device", "cpu", "--out", "again"]) == 0
    changes = ["--width", "6", "--steps", "1", "--rate", "0.004"]
    assert main(["fit", "photo.png", "--config", "run/config.json", *changes, "--out", "narrow"]) == 0
    first, again, narrow = (staf.load(f"{name}/model.safetensors") for name in ("run", "again", "narrow"))
    assert again.module.architecture == first.module.architecture
    assert all(map(torch.equal, first.module.parameters(), again.module.parameters()))
    assert narrow.module.architecture["arguments"]["width"] == 6
    assert narrow.metadata["steps"] == 1
    assert [narrow.metadata["recipe"][name] for name in ("rate", "matrix_rate")] == [0.004, 0.004]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "gauss", "--terms", "3"], "--terms: the network gauss has no terms"),
        (["--width", "0"], "width must be"),
        (["--rate", "-1"], "rate must be positive"),
        (["--batch", "0"], "--batch must be at least 1"),
        (["--optimiser", "sgd"], "optimiser must be one of"),
        (["--precision", "fp8"], "precision must be one of"),
        (["--threads", "0"], "--threads must be at least 1"),
        (["--set", "terms"], "--set takes KEY=VALUE"),
        (["--set", "frequency_rat=2"], "did you mean frequency_rate? (staf has width, depth, terms,"),
        (["--set", "steps=2"], "--set steps: the budget has options of its own"),
        (["--set", "rate=fast"], "rate must be a number, got 'fast'"),
        (["--set", "width=wide"], "width must be an integer, got 'wide'"),
        (["--config", "photo.png"], "is not JSON"),
        (["--config", "nowhere.json"], "cannot read nowhere.json"),
        (["--quiet", "--verbose"], "contradict"),
    ],
)
def test_mistakes_end_in_one_line_before_any_work(photo, capsys, words, said):
    assert main(["fit", photo, "--steps", "2", "--out", "wrong", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_threads_quiet_and_verbose(photo, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    fitted(*SMALL, "--threads", "1", "--quiet")
    said = capsys.readouterr()
    assert (asked, said.out) == ([1], "")
    assert "step" not in said.err
    fitted(*SMALL, "--verbose")
    said = capsys.readouterr()
    assert "dB" in said.out
    assert '"rate"' in said.err
    assert "config: run/config.json" in said.err
