"""The command lines of the page, run as they stand, on a small picture with fewer steps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np

from staf.cli.verbs import VERBS
from staf.kinds import Image

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"


def test_every_verb_has_a_row():
    rows = re.findall(r"^\| `staf ([a-z-]+)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(VERBS)


def test_every_command_of_the_page_runs(staf, here):
    Image(np.random.default_rng(0).integers(0, 256, (12, 12, 3), np.uint8)).save("photo.png")
    commands = re.findall(r"^\$ staf (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        words = shlex.split(command.partition(" > ")[0])
        if words[0] in ("fit", "compare"):
            words += ["--steps", "3"]
        ran = staf(*words)
        assert ran.code == 0, (command, ran.err)
        if words[0] in ("render", "inspect", "theory"):
            assert "Traceback" not in ran.err
    made = {path.name for path in here.rglob("*.png")}
    assert {"big.png", "corner.png", "reconstruction.png", "comparison.png", "theory-gradient-gain.png"} <= made
