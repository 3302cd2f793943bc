"""The `staf` command: parse, call, print.

Each verb is a module with a dataclass of options and a `run`; `verbs.VERBS` is the table of them. Nothing heavy is
imported before a verb runs, so that help is quick.
"""

from __future__ import annotations

from staf.cli.main import main

__all__ = ["main"]
