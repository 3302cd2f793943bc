from __future__ import annotations

import pytest

from staf.storage.sets.index import INDEX, Entry, SetIndex, read_segment, segment_bytes, segments
from staf.storage.sets.place import Place


def entry(name, key="k", shard="s.safetensors", row=0):
    return Entry(name, key, shard, row, {"psnr": float("inf")}, {"digit": 3}, {"kind": "image"})


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path):
    if request.param == "folder":
        return Place(tmp_path)
    pytest.importorskip("fsspec")
    return Place(f"memory://{tmp_path.name}")


def test_later_commits_win_and_a_merged_index_is_the_same(place):
    index = SetIndex(place)
    index.commit([entry("a", "old"), entry("b")], {"c": "c is empty"})
    index.commit([entry("a", "new"), entry("c")], {"d": "d is gone"})
    for _ in range(2):
        again = SetIndex(place)
        assert {name: one.key for name, one in again.entries.items()} == {"a": "new", "b": "k", "c": "k"}
        assert again.failures == {"d": "d is gone"}
        assert again.entries["b"] == entry("b")
        again.merge()
        assert len(place.names(INDEX)) == 1
    again.commit([entry("a", "newest")], {})
    assert SetIndex(place).entries["a"].key == "newest"


def test_a_crash_while_merging_loses_nothing(place):
    """Both the merged segment and those that it replaces are there."""
    index = SetIndex(place)
    index.commit([entry("a", "old")], {})
    index.commit([entry("a", "new")], {})
    kept = {name: place.read(f"{INDEX}/{name}") for name in place.names(INDEX)}
    index.merge()
    for name, data in list(kept.items())[:1]:
        place.write(f"{INDEX}/{name}", data)
    assert SetIndex(place).entries["a"].key == "new"


def test_segments_of_another_process_are_not_removed(place):
    one, other = SetIndex(place), SetIndex(place)
    one.commit([entry("a")], {})
    other.commit([entry("b")], {})
    one.commit([entry("c")], {})
    one.merge()
    assert len(place.names(INDEX)) == 2


@pytest.mark.parametrize("cut", [0, 1, 30, -1, -3])
def test_a_torn_segment_is_ignored(cut):
    whole = segment_bytes([entry("a"), entry("b")], {"c": "no"})
    assert [one.name for one in read_segment(whole)[0]] == ["a", "b"]
    torn = whole[:cut] if cut >= 0 else whole[: cut - 1]
    assert read_segment(torn) == ([], {})


def test_an_index_of_a_stranger_names_no_path():
    evil = segment_bytes([entry("a", shard="../../etc/passwd")], {})
    assert read_segment(evil) == ([], {})


def test_wider_segments_hide_those_within(tmp_path):
    names = [f"{a:010d}-{b:010d}-{'0' * 12}.jsonl" for a, b in ((0, 9), (3, 3), (10, 10), (8, 12))]
    assert [(first, last) for first, last, _ in segments([*names, "notes.txt"])] == [(0, 9), (8, 12)]
