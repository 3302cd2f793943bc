"""Data from strangers: JSON that would fill memory or the stack, and entries of the wrong type or size."""

from __future__ import annotations

import json

import pytest

from staf._documents import LARGEST_FILE, MOST_POINTS, Record, parse_json, read_json
from staf._messages import one_line
from staf.kinds import from_metadata
from staf.signals import SignalError
from staf.storage import FileError
from tests.kinds.bounded import bounded


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10**6, "nested too deeply"),
        ("{" * 10**5, "nested too deeply|Expecting"),
        ("[" + "0," * 2**20 + "0]", "more than 1,048,576 entries"),
        ("9" * 10_000, "digits"),
        ("{", "Expecting"),
        (b"\xff\xfe\xff", "decode|Expecting"),
    ],
)
def test_json_that_is_none_or_too_much(text, message):
    with bounded(), pytest.raises(ValueError, match=message):
        parse_json(text)


def test_huge_files_are_not_read(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with bounded(), pytest.raises(ValueError, match=r"it has 67,108,865 bytes"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (lambda record: record.whole("n"), 1.0, "n must be a whole number of at least 0, got 1.0"),
        (lambda record: record.whole("n"), True, "got True"),
        (lambda record: record.whole("n", most=9), 10, "n must be at most 9, got 10"),
        (lambda record: record.whole("n", most=9), 10**400, "got a number of many digits"),
        (lambda record: record.number("n"), float("nan"), "got nan"),
        (lambda record: record.number("n"), float("inf"), "got inf"),
        (lambda record: record.number("n"), 1e300, "n must be a number from -3.4e"),
        (lambda record: record.number("n"), "1", "got '1'"),
        (lambda record: record.numbers("n", 2), [1], "n must be a list of 2, got list of 1"),
        (lambda record: record.grid("n", range(1, 3)), [10**9, 10**9], f"at most {MOST_POINTS:,} samples"),
        (lambda record: record.grid("n", range(1, 3)), [0], "at least 1, got 0"),
        (lambda record: record.text("n"), "x" * 10**7, r"at most 10000 letters, got 'x{60}'\.\.\."),
        (lambda record: record.texts("n"), ["a"] * 1001, "n must be a list of 0 to 1000"),
        (lambda record: record.texts("n"), [1], "must be texts"),
        (lambda record: record.truth("n"), 1, "n must be true or false, got 1"),
        (lambda record: record.record("n"), [], "must be data by name, got list of 0"),
        (lambda record: record.get("m"), 1, "m is missing"),
    ],
)
def test_entries_name_the_rule_and_the_value(read, value, message):
    with bounded(), pytest.raises(ValueError, match=message):
        read(Record({"n": value}))


IMAGE = {"kind": "image", "name": "a", "shape": [4, 5], "channels": 3, "dtype": "uint8", "value_range": [0, 1],
         "profile": None, "notes": []}  # fmt: skip
AUDIO = {"kind": "audio", "name": "a", "shape": [9], "channels": 1, "rate": 8000, "peak": 1.0, "subtype": "PCM_16",
         "notes": []}  # fmt: skip
GRID = {"kind": "grid", "name": "a", "shape": [4, 5, 6], "channels": 1, "has_channels": False, "dtype": "float32",
        "value_range": [0, 1], "notes": []}  # fmt: skip
FRAME = {"centre": [0, 0, 0], "half": 1.0, "resolution": 8, "offset": [0, 0, 0], "shape": [8, 8, 8]}
SHAPE = {"kind": "shape", "name": "a", "notes": [], "frame": FRAME}


@pytest.mark.parametrize("whole", [IMAGE, AUDIO, GRID, SHAPE])
def test_metadata_of_every_kind_is_read(whole):
    assert from_metadata(whole).name == "a"


@pytest.mark.parametrize(
    ("whole", "change"),
    [
        *((IMAGE, change) for change in ({"shape": [10**9, 10**9]}, {"shape": [1e308, 2]}, {"shape": "45"},
          {"value_range": [0, 1e300]}, {"value_range": [1, 0]}, {"channels": 5}, {"dtype": "object"}, {"profile": 7},
          {"profile": "!"}, {"name": "x" * 10**7}, {"notes": "x"}, {"notes": [None]})),
        *((AUDIO, change) for change in ({"shape": [10**12]}, {"shape": []}, {"peak": 0}, {"peak": float("inf")},
          {"rate": 10**12}, {"rate": 44100.5}, {"channels": 10**6}, {"subtype": 3})),
        *((GRID, change) for change in ({"shape": [10**6] * 4}, {"shape": [1] * 5}, {"dtype": "(3,)f4"},
          {"dtype": "f4,f4"}, {"dtype": "{"}, {"channels": 10**9}, {"has_channels": 1}, {"value_range": [0, "1"]})),
        *((SHAPE, {"frame": change}) for change in ([], {**FRAME, "half": 0}, {**FRAME, "centre": [0, 0, 1e300]},
          {**FRAME, "resolution": 10**9}, {**FRAME, "shape": [9, 8, 8]}, {**FRAME, "offset": [0, 0, -1]})),
    ],
)  # fmt: skip
def test_metadata_that_describes_nothing_is_refused(whole, change):
    # As a file would give it.
    changed = json.loads(json.dumps({**whole, **change}))
    with bounded(), pytest.raises(SignalError) as caught:
        from_metadata(changed)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("error", [SignalError, FileError])
def test_messages_are_one_line_that_can_be_shown(error):
    assert str(error("a\nb \x1b[31m c")) == "a b \\x1b[31m c"
    assert len(str(error("x" * 10**7))) == 900
    assert one_line("two  spaces of a file's name") == "two  spaces of a file's name"
