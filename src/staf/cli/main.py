"""`main`: choose the verb, parse its options, run it, and turn what went wrong into an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO, Union

from staf import __version__
from staf.cli.errors import (
    INTERRUPTED,
    MISTAKE,
    SignalWatch,
    Stopped,
    UserError,
    did_you_mean,
    is_mistake,
    sentence,
    signals_raise,
)
from staf.cli.outputs import remove_empty_folders
from staf.cli.parsing import parse
from staf.cli.terminal import Terminal, printable
from staf.cli.verbs import VERBS

COMPLETION_FLAGS = ("--tyro-print-completion", "--tyro-write-completion")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0; 2 for a user's mistake, in one line on stderr; 130 for Ctrl-C, 143 for SIGTERM and 129
    for SIGHUP.

    A bug is not caught: it shows its traceback.

    >>> main(["--version"])
    staf 0.1.0
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        _check_folder()
        with signals_raise() as signals:
            code = dispatch(words, signals)
            sys.stdout.flush()
            return code
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 0
    except KeyboardInterrupt as stop:
        if argv is None:
            # The process ends: another Ctrl-C while libraries are unloaded would only show their tracebacks.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        tell(f"\nstaf: {str(stop) or 'stopped by Ctrl-C'}")
        return stop.exit_code if isinstance(stop, Stopped) else INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has left (`staf ... | head`); Python must not complain again when it flushes.
        _discard(sys.stdout)
        return 141
    except Exception as error:
        if not is_mistake(error):
            raise
        tell(f"staf: {sentence(error)}")
        return MISTAKE
    finally:
        remove_empty_folders()


def _open_streams() -> None:
    """Stand-ins for stdout and stderr where the caller has closed them (`staf ... 2>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _check_folder() -> None:
    """Refuse to work in a folder that has been removed: libraries would fail in their own ways."""
    try:
        os.getcwd()
    except OSError:
        raise UserError("the working directory does not exist any more: change to another folder") from None


def tell(message: str) -> None:
    """Print on stderr, if anybody can read there: a terminal may be gone, and the exit code still says it."""
    try:
        print(printable(message), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Send what is left in a stream to nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def dispatch(words: list[str], signals: SignalWatch) -> int:
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
    signals.check()
    terminal = Terminal([program(), *words], as_json=getattr(options, "json", False))
    code = verb.run(options, terminal)
    signals.check()
    return code


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
