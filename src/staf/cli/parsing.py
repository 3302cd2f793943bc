"""tyro, with mistakes in one line instead of a box."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import os
import re
import sys
from collections.abc import Sequence
from typing import TypeVar

from staf.cli.errors import UserError, did_you_mean, one_line

T = TypeVar("T")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_BOX = re.compile(r"[\u2500-\u257f]")
_WRONG_TYPE = re.compile(r"Error parsing (\S+): no type matching (.+?) could be instantiated from \[(.*?)\]")
_NO_INT = re.compile(r"Error parsing (\S+): invalid literal for int\(\) with base 10: (.+)")
_NO_FLOAT = re.compile(r"Error parsing (\S+): could not convert string to float: (.+)")
_MISSING = re.compile(r"Missing from .*?: (?:-\w \S+, )?(\S+)")
_NO_VALUE = re.compile(r"Missing value for argument '(\S+)'")
_NO_CHOICE = re.compile(r"invalid choice '(.*)' for argument '(\S+)'\. Expected one of \((.*?),?\)")
_WORDS = {"INT": "a whole number", "FLOAT": "a number", "STR": "text", "PATH": "a path"}


def parse(options: type[T], words: Sequence[str], prog: str) -> T:
    """The options that `words` spell; help is printed as tyro does, a mistake becomes a `UserError`."""
    import tyro

    if {"-h", "--help"} & set(words):
        # Beside a file, tyro would leave the file out of the help.
        words = ["--help"]
    for word in itertools.takewhile(lambda word: word != "--", words):
        if word.startswith("-") and len(word) > 2 and os.path.lexists(word):
            raise UserError(f"{word!r} is taken for an option: write ./{word} for the file of that name")
    for i, word in enumerate(words):
        if not word or (word.startswith("--") and word.endswith("=")):
            name = word.removesuffix("=") or (words[i - 1] if i else "the first argument")
            raise UserError(f"{name if name.startswith('-') else 'an argument'} is empty (see {prog} --help)")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parsed, unknown = tyro.cli(options, args=list(words), prog=prog, return_unknown_args=True)
    except SystemExit as leave:
        if leave.code in (0, None):
            raise
        raise UserError(f"{_sentence(said.getvalue())} (see {prog} --help)") from None
    sys.stderr.write(said.getvalue())
    if unknown:
        raise UserError(f"{_about_unknown(options, unknown)} (see {prog} --help)")
    seed = getattr(parsed, "seed", None)
    if isinstance(seed, int) and not -(2**63) <= seed < 2**64:
        raise UserError(f"--seed must be a whole number from -2^63 to 2^64 - 1 (see {prog} --help)")
    return parsed


def _about_unknown(options: type, unknown: Sequence[str]) -> str:
    flags = ["--" + field.name.rstrip("_").replace("_", "-") for field in dataclasses.fields(options)]
    flags += ["--no-progress", "--help"]
    first = unknown[0]
    if first.startswith("-"):
        name = first.partition("=")[0]
        # The hyphens, which all have, make no two of them alike.
        near = did_you_mean(name.lstrip("-"), [flag.lstrip("-") for flag in flags])
        return f"unknown option {name}{near.replace('mean ', 'mean --')}"
    return f"unexpected argument {first!r}"


def _sentence(box: str) -> str:
    """The first paragraph of tyro's error box, on one line; the box is drawn with lines, or with hyphens in ASCII."""
    lines = [_BOX.sub("", _ANSI.sub("", line)).strip() for line in box.splitlines()]
    # The title comes first, and in ASCII a rule below it.
    body = lines[2:] if len(lines) > 1 and _is_rule(lines[1]) else lines[1:]
    kept = list(itertools.takewhile(lambda line: not _is_rule(line), body))
    text = one_line(" ".join(kept)) or "the arguments are not understood"
    if found := _WRONG_TYPE.search(text):
        wanted = [_WORDS.get(name, name) for name in found[2].split("|") if name != "{None}"]
        return f"{found[1]} takes {' or '.join(wanted)}, got {found[3]}"
    for pattern, wanted_word in ((_NO_INT, _WORDS["INT"]), (_NO_FLOAT, _WORDS["FLOAT"])):
        if found := pattern.search(text):
            return f"{found[1]} takes {wanted_word}, got {found[2]}"
    if found := _MISSING.match(text):
        return f"{found[1]} is missing"
    if found := _NO_VALUE.search(text):
        return f"{found[1]} needs a value"
    if found := _NO_CHOICE.search(text):
        choices = sorted(choice.strip("'") for choice in found[3].split(", ") if choice != "'None'")
        return f"{found[2]} must be {' or '.join(choices)}, got {found[1]!r}"
    return text


def _is_rule(line: str) -> bool:
    return not line.strip("-")
