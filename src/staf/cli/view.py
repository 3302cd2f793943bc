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
    """Show a fitted field in the browser; it is read again when its file changes. Ctrl-C ends it.

    FIELD is the file of a field, the folder of a run, or what fit-many wrote, a folder (with or without --shards) or
    a URL, whose fields are listed. The server answers on this machine alone, at an address with a secret.
    """

    field: Annotated[Positional[str], arg(metavar="FIELD")]
    """A fitted field, a folder that holds fitted fields, or the URL of a set."""
    browse: Annotated[bool, arg(help_behavior_hint="")] = True
    """Open the browser, which is the default, or only print the address."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""


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
