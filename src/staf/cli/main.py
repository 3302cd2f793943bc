"""`main`: choose the verb, parse its options, run it, and turn what went wrong into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Union

from staf import __version__
from staf.cli.errors import INTERRUPTED, MISTAKE, Stopped, UserError, did_you_mean, is_mistake, one_line, sigterm_raises
from staf.cli.parsing import parse
from staf.cli.terminal import Terminal
from staf.cli.verbs import VERBS

COMPLETION_FLAGS = ("--tyro-print-completion", "--tyro-write-completion")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0; 2 for a user's mistake, in one line on stderr; 130 for Ctrl-C and 143 for SIGTERM.

    A bug is not caught: it shows its traceback.

    >>> main(["--version"])
    staf 0.1.0
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with sigterm_raises():
            return dispatch(words)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 0
    except KeyboardInterrupt as stop:
        print(f"\nstaf: {str(stop) or 'stopped by Ctrl-C'}", file=sys.stderr)
        return stop.exit_code if isinstance(stop, Stopped) else INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has left (`staf ... | head`); Python must not complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"staf: {one_line(str(error))}", file=sys.stderr)
        return MISTAKE


def dispatch(words: list[str]) -> int:
    """Run the verb that `words` begin with."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if words else MISTAKE
    first, rest = words[0], words[1:]
    if first in ("-V", "--version"):
        print(f"staf {__version__}")
        return 0
    if first in COMPLETION_FLAGS:
        _print_completion(words)
        return 0
    if first not in VERBS:
        raise UserError(f"unknown verb {first!r}{did_you_mean(first, VERBS)} (the verbs are {', '.join(VERBS)})")
    verb = VERBS[first].load()
    options = parse(verb.options_for(rest), rest, f"{program()} {first}")
    VERBS[first].check()
    terminal = Terminal([program(), *words], as_json=getattr(options, "json", False))
    return verb.run(options, terminal)


def program() -> str:
    """How this command was started, for messages that quote it."""
    return "python -m staf" if os.path.basename(sys.argv[0]) == "__main__.py" else "staf"


def overview() -> str:
    """What `staf --help` prints."""
    width = max(map(len, VERBS)) + 2
    lines = [
        "usage: staf VERB ...",
        "",
        "Fit signals with networks of trainable sinusoids.",
        "",
        *(f"  {name:<{width}}{verb.help}" for name, verb in VERBS.items()),
        "",
        "staf VERB --help lists the options of a verb; staf --version prints the version.",
        "Tab completion: staf --tyro-print-completion bash (zsh, fish, tcsh).",
    ]
    return "\n".join(lines)


def _print_completion(words: list[str]) -> None:
    import tyro

    parts: list[Any] = [
        Annotated[verb.load().options_for([]), tyro.conf.subcommand(name, description=verb.help)]
        for name, verb in VERBS.items()
    ]
    every_verb: Any = Union[tuple(parts)]  # noqa: UP007
    tyro.cli(every_verb, args=words, prog="staf")
