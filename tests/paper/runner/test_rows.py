"""A list of rows: every row has a result of its own, and the same command continues what time has cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.__main__ import parser
from paper.runner import load_results
from paper.runner.rows import lines_of, main
from tests.paper.runner.toy import Toy, ToyRun


def test_variables_are_filled_in_and_comments_left_out(monkeypatch):
    monkeypatch.setenv("PLACE", "/data")
    text = 'audio --recording $PLACE/a.npy\n# a comment\n\nx --arms "frozen sine" # first\n'
    assert lines_of(text) == [["audio", "--recording", "/data/a.npy"], ["x", "--arms", "frozen sine"]]


def test_a_list_is_continued_and_a_bad_line_does_not_stop_it(tmp_path, capsys):
    toy = Toy(str(tmp_path / "log"))

    def expand(words: list[str], folder: Path):
        if words[0] != "toy":
            raise ValueError("no such experiment")
        return toy, [ToyRun(float(word)) for word in words[1:]], folder / "toy"

    rows = tmp_path / "rows.txt"
    rows.write_text("toy 2\nsquare 2\ntoy 2 3\n")
    words = [str(rows), "--folder", str(tmp_path / "results"), "--workers", "1", "--threads", "1", "--device", "cpu"]
    assert main([*words, "--seconds", "0"], expand) == 1
    assert "time is over" in capsys.readouterr().out
    assert load_results(tmp_path / "results" / "toy") == []
    assert main(words, expand) == 1
    said = capsys.readouterr().out
    assert "left out: square 2: no such experiment" in said
    assert "1 of 3 lines could not be run, for the reasons above; all other rows have a result" in said
    assert "toy: value 3 seed/0: square 9" in said
    assert [result.metrics["square"] for result in load_results(tmp_path / "results" / "toy")] == [4.0, 9.0]
    assert toy.runs() == 2, "a row that stands in the list twice is run once"
    rows.write_text("toy 2\ntoy 2 3\n")
    assert main(words, expand) == 0
    assert "all rows have a result" in capsys.readouterr().out
    assert toy.runs() == 2


@pytest.mark.parametrize("name", ["rows.txt", "rows-alone.txt"])
def test_every_row_of_the_lists_of_what_is_left_is_a_command(name):
    lines = lines_of((Path(__file__).parents[3] / "paper" / name).read_text("utf-8"))
    assert len(lines) > 1
    for words in lines:
        assert parser(words).parse_args(words).experiment == words[0]
