from __future__ import annotations

from staf._tables import Table, mean, number


def test_text_is_aligned_and_markdown_is_escaped():
    table = Table("title", ("model", "dB"), (("a|b", "1.00"), ("long name", "10.25")))
    assert table.to_text().splitlines() == [
        "title",
        "model         dB",
        "a|b         1.00",
        "long name  10.25",
    ]
    assert "| a\\|b | 1.00 |" in table.to_markdown()


def test_means_and_missing_numbers():
    assert mean([1.0, 3.0]) == 2.0
    assert number(mean([])) == "-"
