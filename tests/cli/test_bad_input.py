"""Whatever is wrong with the input or the output: one clear line, exit code 2, nothing lost."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from staf._files import WriteError
from staf.api import load
from staf.cli.terminal import Terminal


def png_announcing(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header announces any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def nan_array(value: float) -> np.ndarray:
    array = np.zeros((4, 4), np.float32)
    array[1, 2] = value
    return array


@pytest.fixture
def bad(here, picture):
    """Name -> what should be said of the file of that name."""
    whole = picture.read_bytes()
    (here / "empty.png").touch()
    (here / "truncated.png").write_bytes(whole[: len(whole) // 2])
    (here / "text.png").write_text("not an image at all")
    (here / "bomb.png").write_bytes(png_announcing(100_000, 100_000))
    np.save(here / "nan.npy", nan_array(np.nan))
    np.save(here / "inf.npy", nan_array(np.inf))
    np.save(here / "channels.npy", np.zeros((4, 4, 7), np.complex64))
    np.save(here / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (here / "sound.png").write_bytes(b"RIFF\0\0\0\0WAVEfmt ")
    (here / "folder.png").mkdir()
    return here


@pytest.mark.parametrize("verb", ["fit", "compare"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.png", "no such file"),
        ("empty.png", "empty"),
        ("truncated.png", "damaged or cut short"),
        ("text.png", "no known format"),
        ("bomb.png", "100000x100000"),
        ("nan.npy", "NaN or Inf"),
        ("inf.npy", "NaN or Inf"),
        ("channels.npy", "complex64"),
        ("pickled.npy", "pickled Python objects"),
        ("folder.png", "folder"),
    ],
)
def test_bad_images_are_refused(staf, bad, verb, name, message):
    line = staf(verb, name, "--steps", 1).refused()
    assert message in line
    assert name in line
    assert not (bad / "runs").exists()


def test_the_limit_on_pixels_can_be_moved(staf, picture):
    assert "16x16 pixels" in staf("fit", picture, "--steps", 1, "--max-pixels", 255).refused()
    assert staf("fit", picture, "--steps", 1, "--max-pixels", 256).code == 0


def test_other_signals_are_named(staf, bad):
    assert "sound.png" in staf("fit", "sound.png", "--steps", 1).refused()


@pytest.mark.parametrize("verb", ["render", "inspect"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.safetensors", "does not exist"),
        ("empty.png", "empty"),
        ("picture.png", "not a safetensors file"),
        ("folder.png", "is a folder"),
    ],
)
def test_bad_fields_are_refused(staf, bad, verb, name, message):
    assert message in staf(verb, name).refused()


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_an_output_that_is_a_file_is_refused(staf, picture, here, verb):
    (here / "taken").write_text("mine")
    assert "taken is a file" in staf(verb, picture, "--steps", 1, "--out", "taken").refused()
    assert "expected a folder, found a file" in staf(verb, picture, "--steps", 1, "--out", "taken/x").refused()
    assert (here / "taken").read_text() == "mine"


def test_an_unwritable_folder_is_refused_before_training(staf, picture, monkeypatch):
    monkeypatch.setattr("staf.api.fit", lambda *a, **k: pytest.fail("trained"))
    assert "cannot write" in staf("fit", picture, "--steps", 1, "--out", "/proc/nothing").refused()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_said(staf, picture, here):
    (here / "locked").mkdir(mode=0o500)
    assert "no permission" in staf("fit", picture, "--steps", 1, "--out", "locked/x").refused()


@pytest.fixture
def tiny_disk(here):
    """A file system of 256 KiB."""
    folder = here / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a tiny tmpfs needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_noticed_before_training(staf, picture, tiny_disk, monkeypatch):
    monkeypatch.setattr("staf.api.fit", lambda *a, **k: pytest.fail("trained"))
    assert "are needed" in staf("fit", picture, "--steps", 1, "--out", tiny_disk / "run").refused()
    assert not (tiny_disk / "run").exists()


def test_a_disk_that_fills_during_training_does_not_cost_the_model(staf, picture, tiny_disk, monkeypatch):
    monkeypatch.setattr("staf.cli.fit.prepare_folder", lambda folder, needed: None)
    line = staf("fit", picture, "--steps", 2, "--no-progress", "--out", tiny_disk / "run").refused()
    assert "the disk is full" in line
    rescued = line.rpartition("the fitted model is in ")[2]
    assert load(rescued).metadata["steps"] == 2
    assert not list(tiny_disk.rglob("*.safetensors"))


def test_a_model_that_can_be_saved_nowhere_says_why(staf, picture, monkeypatch):
    def save(self, path):
        raise WriteError(errno.EFBIG, f"cannot write {path}: File too large")

    monkeypatch.setattr("staf.api.Fit.save", save)
    line = staf("fit", picture, "--steps", 1, "--width", 24, "--depth", 2, "--no-progress").refused()
    assert line.startswith("the fitted model cannot be saved anywhere: cannot write runs/picture-staf-")
    assert line.count("File too large") == 3


def test_a_disk_that_fills_does_not_end_a_fit_or_cost_its_checkpoint(staf, picture, tiny_disk, monkeypatch, here):
    """The minute's checkpoint fails and the fit goes on; Ctrl-C then leaves its checkpoint where there is room."""
    struck = []

    def strike(self, *arguments):
        struck.append(arguments)
        if len(struck) == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("staf.cli.fit.prepare_folder", lambda folder, needed: None)
        patch.setattr("staf.training.trainer.CHECKPOINT_SECONDS", 0.0)
        patch.setattr("staf.training.progress.Progress.update", strike)
        ran = staf("fit", picture, "--steps", 5, "--out", tiny_disk / "run")
    assert ran.code == 130
    assert ran.err.count("no checkpoint: cannot write") == 2
    moved = ran.err.partition("the training so far is in ")[2].partition(" (move it to ")[0]
    (here / "room").mkdir()
    shutil.move(moved, here / "room" / "checkpoint.safetensors")
    assert staf("fit", picture, "--steps", 5, "--out", "room", "--resume", "--json").json["steps"] == 5


def test_a_full_disk_leaves_no_half_picture(staf, picture, tiny_disk, here):
    assert staf("fit", picture, "--steps", 2, "--width", 8, "--depth", 2, "--out", "run").code == 0
    line = staf("render", "run/model.safetensors", "--size", "1500x1500", "-o", tiny_disk / "big.npy").refused()
    assert "cannot write" in line
    assert not list(tiny_disk.iterdir())


SMALL = ("--steps", 2, "--no-progress")


@pytest.mark.parametrize("words", [("fit", "--width", 8, "--depth", 1), ("upscale", "--scale", 2), ("denoise",)])
def test_names_that_are_long_or_no_letters(staf, picture, here, words):
    """As long as a file system allows, and with bytes that are no UTF-8."""
    for name in ("n" * 249 + ".png", os.fsdecode(b"n\xff\xfe.png")):
        shutil.copy(picture, here / name)
        ran = staf(words[0], name, *words[1:], *SMALL, "--json")
        assert ran.code == 0, ran.err
        assert Path(ran.json["out"]).parent == Path("runs")
        assert ran.out.encode()


def test_a_name_that_begins_with_a_hyphen_is_no_option(staf, picture, here):
    shutil.copy(picture, here / "-a.png")
    small = ("--width", 8, "--depth", 1, *SMALL)
    for words in (("-a.png", *small), (*small, "-a.png")):
        assert "'-a.png' is taken for an option: write ./-a.png" in staf("fit", *words).refused()
    for words in (("./-a.png", *small), (*small, "--overwrite", "--", "-a.png")):
        assert staf("fit", *words).code == 0


def test_compare_takes_such_names_too(staf, picture, here):
    for name in ("n" * 249 + ".png", os.fsdecode(b"n\xff\xfe.png")):
        shutil.copy(picture, here / name)
        assert staf("compare", name, *SMALL, "--models", "siren").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "x" * 300 + ".png"], "File name too long: xxx"),
        (["fit", "picture.png", "--out", "x" * 300], "File name too long: xxx"),
        (["fit", "picture.png", "--out", ""], "--out is empty"),
        (["fit", "picture.png", "--out="], "--out is empty"),
        (["fit", ""], "an argument is empty"),
        (["fit", "picture.png", "--seed", "9" * 30], "--seed must be a whole number from -2^63"),
        (
            ["upscale", "picture.png", "--scale", "100000"],
            "--scale 100000 makes 1,600,000 x 1,600,000 pixels of 16 x 16",
        ),
        (["upscale", "picture.png", "--seed", "9" * 30], "--seed must be a whole number from -2^63"),
    ],
)
def test_absurd_arguments(staf, picture, words, message):
    line = staf(*words).refused()
    assert message in line
    assert "Errno" not in line


def test_absurd_sizes_of_a_rendering(staf, picture):
    assert staf("fit", picture, *SMALL, "--width", 8, "--depth", 1, "--out", "run").code == 0
    assert "scale 1e+09 asks for 1.6e+10 x 1.6e+10" in staf("render", "run", "--scale", 1e9).refused()
    assert "at most" in staf("render", "run", "--size", "999999999x999999999").refused()


def test_nan_weights_are_inspected(staf, picture):
    import torch

    assert staf("fit", picture, *SMALL, "--width", 8, "--depth", 1, "--out", "run").code == 0
    field = load("run/model.safetensors")
    for parameter in field.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    field.save("nan.safetensors")
    ran = staf("inspect", "nan.safetensors")
    assert ran.code == 0
    assert "parameters are not finite, so there is no figure" in ran.err
    assert not Path("nan-inspect.png").exists()
    assert (
        "66 of 66 parameters of the field are not finite"
        in staf("render", "nan.safetensors", "-o", "nan.png").refused()
    )
    assert not Path("nan.png").exists()


def shell(here, line):
    """A line of a shell with $STAF in it; exit code, stdout, stderr."""
    environment = {**os.environ, "STAF": f"{sys.executable} -m staf"}
    done = subprocess.run(["bash", "-c", line], cwd=here, env=environment, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$STAF --help >&-", 0),
        ("$STAF fit nowhere.png 2>&-", 2),
        ("$STAF fit nowhere.png 2>/dev/full", 2),
        ("$STAF --help >/dev/full", 2),
        ("$STAF --help | true; exit ${PIPESTATUS[0]}", None),
        ("mkdir gone && cd gone && rmdir ../gone && $STAF fit a.png", 2),
    ],
)
def test_streams_that_are_closed_or_full_and_a_folder_that_is_gone(here, line, code):
    found = shell(here, line)
    assert found[0] == code or (code is None and found[0] in (0, 141))
    if "gone" in line:
        assert "the working directory does not exist any more" in found[2]


def test_a_table_that_nobody_reads_to_its_end_ends_the_command_like_any_line(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with contextlib.suppress(BrokenPipeError), open(write, "w") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        with pytest.raises(BrokenPipeError):
            Terminal(["staf"]).table("a", ["b"], [["c"]])


def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(staf, here):
    os.mkfifo(here / "pipe.png")
    assert "it is not a regular file" in staf("fit", "pipe.png").refused()
