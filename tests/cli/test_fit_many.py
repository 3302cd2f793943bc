from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import staf as library
from staf.kinds import Image


@pytest.fixture
def folder(here):
    """Two pictures out of order, a text file, a hidden file and a folder."""
    pictures = here / "pictures"
    pictures.mkdir()
    for name in ("b", "a"):
        Image(np.random.default_rng(ord(name)).integers(0, 256, (6, 5, 3), np.uint8)).save(pictures / f"{name}.png")
    (pictures / "notes.txt").write_text("not a picture")
    (pictures / ".hidden").write_text("")
    (pictures / "more").mkdir()
    return pictures


def test_every_picture_gets_a_network_and_the_rest_is_reported(staf, folder, here):
    ran = staf("fit-many", folder, "--steps", "2", "--out", "nets", "--json", "--no-progress")
    assert ran.code == 1
    assert list(ran.json["fits"]) == ["a", "b"]
    assert list(ran.json["failed"]) == ["notes"]
    assert "notes failed: " in ran.err
    index = json.loads((here / "nets" / "index.json").read_text())
    assert list(index["fields"]) == ["a", "b"]
    field = library.load(here / "nets" / index["fields"]["a"]["file"])
    assert field.render().array.shape == (6, 5, 3)
    assert field.metadata["steps"] == 2


def test_resume_and_overwrite(staf, folder, here):
    (folder / "notes.txt").unlink()
    assert staf("fit-many", folder, "--steps", "1", "--no-progress").code == 0
    made = here / "runs" / "pictures-many" / "fields" / "a.safetensors"
    first = made.stat().st_mtime_ns
    assert "already holds fits" in staf("fit-many", folder, "--steps", "1").refused()
    ran = staf("fit-many", folder, "--steps", "1", "--resume", "--no-progress")
    assert ran.code == 0
    assert "2 fits in" in ran.out
    assert made.stat().st_mtime_ns == first
    assert staf("fit-many", folder, "--steps", "1", "--overwrite", "--no-progress").code == 0
    assert made.stat().st_mtime_ns != first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "missing is not a folder"),
        (["pictures/more"], "holds no files"),
        (["pictures", "--steps", "0"], "--steps must be at least 1, got 0"),
        (["pictures", "--at-once", "0"], "--at-once must be at least 1, got 0"),
        (["pictures", "--seconds", "-1"], "--seconds must be a positive number, got -1"),
        (["pictures", "--model", "siern"], "there is no model 'siern'; did you mean 'siren'? (the choices are staf,"),
        (["pictures", "--resume", "--overwrite"], "give one of them"),
        (["pictures", "--out", "pictures/a.png"], "is a file"),
        (["pictures", "--shards", "--seconds", "1"], "give --steps, not --seconds"),
        (["pictures", "--cluster", "local", "--explain"], "--explain is for one process"),
    ],
)
def test_mistakes(staf, folder, words, message):
    assert message in staf("fit-many", *words).refused()


def test_a_signal_keeps_what_is_finished_and_says_how_to_go_on(start, staf, folder, here):
    (folder / "notes.txt").unlink()
    words = ["fit-many", str(folder), "--steps", "60", "--at-once", "1", "--out", "nets"]
    process = start(words)
    deadline = time.monotonic() + 60
    while not (here / "nets" / "index.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "--resume" in err
    other = staf(*words, "--resume", "--steps", "1", "--json", "--no-progress").refused()
    assert "was fitted with steps=60, got steps=1" in other
    assert "was fitted with seed=0, got seed=3" in staf(*words, "--resume", "--seed", "3", "--no-progress").refused()
    assert "is another network" in staf(*words, "--resume", "--model", "siren", "--no-progress").refused()
    finished = sorted((here / "nets" / "fields").iterdir())[0].stat().st_mtime_ns
    ran = staf(*words, "--resume", "--json", "--no-progress")
    assert set(ran.json["fits"]) == {"a", "b"}
    assert sorted((here / "nets" / "fields").iterdir())[0].stat().st_mtime_ns == finished
    steps = {name: library.load(entry["file"]).metadata["steps"] for name, entry in ran.json["fits"].items()}
    assert sorted(steps.values()) == [60, 60]


def test_a_model_and_limits_are_asked_for_and_explained(staf, folder):
    (folder / "notes.txt").unlink()
    words = ["fit-many", folder, "--model", "siren", "--steps", "50", "--target-db", "1", "--explain", "--json"]
    ran = staf(*words, "--no-progress", "--out", "nets")
    assert ran.code == 0
    assert ran.json["model"] == "siren"
    field = library.load(ran.json["fits"]["a"]["file"])
    assert field.module.architecture["name"] == "siren"
    assert field.metadata["steps"] < 50
    assert field.metadata["stopped"].startswith("reached")
    lines = ran.err.splitlines()
    assert lines[0].startswith("a, b on ")
    assert any("model siren" in line for line in lines[1:])
    timed = staf("fit-many", folder, "--seconds", "0.3", "--no-progress", "--json", "--out", "timed").json
    assert library.load(timed["fits"]["a"]["file"]).metadata["stopped"] == "the time is up"


def test_the_names_of_files_are_those_of_the_library():
    from staf.cli import many_options
    from staf.storage import folder
    from staf.windows import WINDOWS

    assert (many_options.INDEX, many_options.WINDOWS) == (folder.INDEX, WINDOWS)


def test_the_page_runs(staf, folder, here):
    (folder / "notes.txt").unlink()
    folder.rename(here / "photos")
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "fit-many.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ staf (.*)$", page, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        ran = staf(*command.replace("250", "2").split(), "--no-progress")
        assert ran.code == 0, ran.err
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block.replace("steps=250", "steps=2, progress=False"), {})
    assert (here / "best-2x.png").exists()


def test_shards_go_to_a_folder_and_are_resumed(staf, folder, here):
    words = ["fit-many", folder, "--steps", "1", "--model", "siren", "--shards", "--out", "set", "--no-progress"]
    ran = staf(*words, "--json", "--explain")
    assert ran.code == 1
    assert ran.json["fits"]["a"]["file"] is None
    assert list(ran.json["failed"]) == ["notes"]
    assert "a, b on cpu:" in ran.err
    assert library.FieldSet(here / "set").names == ["a", "b"]
    assert "already holds fits" in staf(*words).refused()
    (folder / "notes.txt").unlink()
    assert staf(*words, "--resume").code == 0


def test_signals_and_networks_behind_urls(staf, folder):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe_file("/photos/a.png", (folder / "a.png").read_bytes())
    words = ["--steps", "1", "--model", "siren", "--no-progress", "--json"]
    ran = staf("fit-many", "memory://photos", *words, "--out", "memory://nets")
    assert ran.code == 0
    assert (ran.json["folder"], list(ran.json["fits"])) == ("memory://photos", ["a"])
    assert library.FieldSet("memory://nets").names == ["a"]
    assert "memory://empty holds no files, or there is no such folder" in staf("fit-many", "memory://empty").refused()
    assert "nowhere:// must be file, memory" in staf("fit-many", "nowhere://photos").refused()
    assert "nowhere:// must be file, memory" in staf("fit-many", folder, "--out", "nowhere://nets").refused()
