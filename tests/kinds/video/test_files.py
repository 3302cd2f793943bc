from __future__ import annotations

import json

import numpy as np
import pytest

import staf
from staf.cli import main
from staf.kinds.video.films import write_film
from staf.signals import SignalError
from tests.kinds.video.clips import clip

pytest.importorskip("av")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips")
    clip(24, 32, 48).save(path / "clip.mp4")
    return path


def test_mp4_gif_and_npy_come_back(tmp_path):
    video = clip(12, 16, 24, rate=10)
    for name, least in (("a.mp4", 38), ("a.gif", 30), ("a.npy", 99)):
        video.save(tmp_path / name)
        again = staf.open(tmp_path / name, kind=None if "npy" not in name else "grid")
        found = staf.Video(again.array, rate=10) if "npy" in name else again
        assert (found.shape, round(found.rate, 3)) == (video.shape, 10), name
        assert np.minimum(video.psnr_per_frame(found), 99).min() >= least, name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gif", "a.mp4", "a.npy"]


def test_odd_sides_lose_a_row_and_grey_is_written(tmp_path):
    clip(4, 17, 25, channels=1).save(tmp_path / "odd.mp4")
    assert staf.open(tmp_path / "odd.mp4").shape == (4, 16, 24)


def test_a_part_is_read_by_seeking_and_is_the_same_as_in_the_whole(folder):
    whole = staf.open(folder / "clip.mp4")
    assert (whole.shape, whole.rate, whole.name) == ((24, 32, 48), 12.0, "clip")
    part = staf.Video.read(folder / "clip.mp4", start=1.0, stop=1.5, every=2)
    assert (part.shape[0], part.rate) == (3, 6.0)
    assert np.array_equal(part.array, whole.array[12:18:2])
    small = staf.Video.read(folder / "clip.mp4", start=1.0, size=(24, 16))
    means = whole.array[12:].reshape(12, 16, 2, 24, 2, 3).mean((2, 4))
    assert np.abs(small.array - means).max() < 6
    with pytest.raises(SignalError, match="no frames from 9 to 10 seconds"):
        staf.Video.read(folder / "clip.mp4", start=9, stop=10)
    with pytest.raises(SignalError, match="start must be at least 0 and below stop, got 2 and 1"):
        staf.Video.read(folder / "clip.mp4", start=2, stop=1)


def test_what_is_too_large_is_refused_before_it_is_decoded(folder):
    with pytest.raises(SignalError, match=r"24 frames of 48x32, 36,864 pixels, more than max_pixels=30000"):
        staf.open(folder / "clip.mp4", max_pixels=30_000)
    assert staf.Video.read(folder / "clip.mp4", every=2, max_pixels=30_000).shape[0] == 12


def test_broken_truncated_and_empty_files_are_refused_in_one_line(folder, tmp_path):
    data = (folder / "clip.mp4").read_bytes()
    clip(6).save(tmp_path / "whole.gif")
    gif = (tmp_path / "whole.gif").read_bytes()
    noise = np.random.default_rng(0).integers(0, 256, len(data), np.uint8).tobytes()
    broken = {
        "empty.mp4": b"",
        "header.mp4": data[:64],
        "half.mp4": data[: len(data) // 2],
        "noise.mp4": data[:40] + noise,
        "half.gif": gif[: len(gif) // 2],
        "header.gif": gif[:14],
        "noise.webm": b"\x1aE\xdf\xa3" + noise[:500],
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SignalError, match=r"^cannot open .*(damaged|empty|no frames)") as caught:
            staf.open(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_wrong_names_and_rates_are_refused(tmp_path):
    frames = clip(2).array
    with pytest.raises(SignalError, match=r"a video is written as \.mp4, \.gif, \.npy, got 'a\.mov'"):
        write_film(tmp_path / "a.mov", frames, 25, 2)
    with pytest.raises(SignalError, match="a GIF has at most 50 frames a second, got 60"):
        write_film(tmp_path / "a.gif", frames, 60, 2)
    with pytest.raises(SignalError, match="rate must be"):
        write_film(tmp_path / "a.mp4", frames, 0, 2)
    with pytest.raises(SignalError, match="rate must be frames per second, 1e-06 to 100000, got 1e-320"):
        staf.Video.from_metadata({**clip(2).metadata(), "rate": 1e-320})
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_fits_and_renders_a_clip(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "fit",
        str(folder / "clip.mp4"),
        "--every",
        "4",
        "--size",
        "12x8",
        "--steps",
        "2",
        "--out",
        "run",
        "--json",
    ]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"]["reconstruction"] == "run/reconstruction.mp4"
    assert {"psnr", "worst_frame_psnr", "psnr_of_file"} <= set(document["metrics"])
    report = (tmp_path / "run/report.html").read_text("utf-8")
    assert "Frame by frame" in report
    worst = document["metrics"]["worst_frame_psnr"]
    assert f"<dt>PSNR, worst frame</dt><dd>{worst:.2f}<small> dB</small>" in report
    command = json.loads((tmp_path / "run/config.json").read_text())["reproduce"]["command"]
    assert "--every 4 --size 12x8" in command
    assert main(["render", "run", "-o", "slow.mp4", "--rate", "60", "--speed", "0.5"]) == 0
    slow = staf.open("slow.mp4")
    assert (slow.shape, slow.rate) == ((240, 8, 12), 60.0)
    assert main(["render", "run", "-o", "frame.png", "--at", "0.5", "--scale", "2"]) == 0
    assert staf.open("frame.png").shape == (16, 24)
    assert main(["export", "run", "-o", "again.gif"]) == 0
    capsys.readouterr()
    assert main(["render", "run", "-o", "frame2.png"]) == 2
    assert "--at SECONDS" in capsys.readouterr().err


def test_a_film_that_names_no_codec_is_said_to_be_damaged(folder, tmp_path):
    whole = (folder / "clip.mp4").read_bytes()
    assert b"stsd" in whole
    # What describes the stream becomes free space.
    (tmp_path / "cut.mp4").write_bytes(whole.replace(b"stsd", b"free"))
    with pytest.raises(SignalError, match="its video has no codec that is known") as caught:
        staf.open(tmp_path / "cut.mp4")
    assert "attribute" not in str(caught.value)
