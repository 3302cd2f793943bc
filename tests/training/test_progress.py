from __future__ import annotations

import io
import sys

from staf.training.progress import Progress, choose_mode


def test_lines_show_step_loss_decibels_and_time_left(capsys):
    with Progress(total=100, seconds=None, mode="lines", title="fit photo") as bar:
        bar.update(25, 0.01, 20.0, elapsed=5.0, fraction=0.25)
        bar.update(26, 0.01, 20.0, elapsed=5.1, fraction=0.26)
        bar.say("memory ran out: continuing with 8 points at a time")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fit photo: step 25/100  loss 0.01  20.00 dB  15s left"
    assert lines[1:] == ["memory ran out: continuing with 8 points at a time"]


def test_none_is_silent(capsys):
    with Progress(total=10, seconds=None, mode="none") as bar:
        bar.update(5, 0.1, 10.0, 1.0, 0.5)
        bar.say("nothing")
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_the_same_numbers(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress(total=100, seconds=None, mode="bar", title="fit") as bar:
        bar.update(50, 0.001, 30.0, elapsed=10.0, fraction=0.5)
        bar.say("[brackets] are not markup")
    assert "step 50/100" in screen.getvalue()
    assert "30.00 dB" in screen.getvalue()
    assert "[brackets] are not markup" in screen.getvalue()


def test_a_bar_where_someone_can_see_it_and_lines_elsewhere(monkeypatch):
    assert choose_mode(False) == "none"
    assert choose_mode(True) == "lines"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert choose_mode(None) == "bar"
    monkeypatch.setitem(sys.modules, "rich", None)
    assert choose_mode(None) == "lines"


def test_notebooks_have_a_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert choose_mode(None) == "bar"


def test_measuring_is_shown_where_it_takes_long(monkeypatch, capsys):
    now = iter(range(0, 1000, 3))
    monkeypatch.setattr("staf.training.progress.time.monotonic", lambda: next(now))
    shown = Progress(None, None, "lines")
    measure = shown.watched(lambda points: points, 40)
    for _ in range(4):
        measure([0] * 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "measuring: 100%  0s left"
    assert all(line.startswith("measuring: ") for line in lines)
    for _ in range(4):
        measure([0] * 10)
    more = capsys.readouterr().err.splitlines()
    assert more
    assert all(line.endswith(" so far") and "left" not in line for line in more)
    done = iter(range(3))
    measure = shown.watched(lambda points: points, 40, lambda: ("view", next(done), 2))
    for _ in range(3):
        now = iter(range(next(now) + 20, 10_000, 3))
        measure([0] * 90)
    views = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in views] == [
        "measuring: view 1/2",
        "measuring: view 2/2",
        "measuring: view 2/2",
    ]
    assert [" left" in line for line in views] == [False, True, True]
    measure = Progress(None, None, "none").watched(lambda points: points, 4)
    assert measure([1, 2]) == [1, 2]
    assert capsys.readouterr().err == ""
