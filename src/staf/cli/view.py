"""`staf view FIELD`: a fitted field in the browser, from a server on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from staf.cli.errors import edge
from staf.cli.options import Flag
from staf.cli.terminal import Terminal


@dataclass(frozen=True, kw_only=True)
class View:
    """Show a fitted field in the browser. Ctrl-C stops the server.

    FIELD is the file of a field, a run folder, or a folder or URL that fit-many wrote, whose fields are listed. The
    page reloads when the file changes. The server is reachable only from this machine, at a secret address.
    """

    field: Annotated[Positional[str], arg(metavar="FIELD")]
    """A fitted field, a folder of fitted fields, or the URL of a set."""
    browse: Annotated[bool, arg(help_behavior_hint="")] = True
    """Open the browser, or only print the address (default: open it)."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""


def options_for(words: Sequence[str]) -> type[View]:
    """The same for every kind of field."""
    return View


def run(options: View, terminal: Terminal) -> int:
    """Serve until Ctrl-C."""
    from staf.api import FittedField, load
    from staf.viewer import serve

    with edge():
        server = serve(options.field, load, build=FittedField, browse=options.browse)
    with server:
        terminal.say(f"{server.address} (Ctrl-C ends it)")
        terminal.finish({"verb": "view", "field": options.field, "address": server.address})
        try:
            server.wait()
        except KeyboardInterrupt:
            terminal.note("ended")
    return 0
