"""A server on this machine for one person: 127.0.0.1 alone, a secret in the address, and nothing but what it shows."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from staf._page_policy import text
from staf.export.errors import ExportError
from staf.storage.header import FileError
from staf.viewer.page import policy
from staf.viewer.shown import FileShown, Shown

HOST = "127.0.0.1"
LOOK_SECONDS = 0.5
LISTING_STYLE = (
    ":root { color-scheme: light dark; } body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; "
    "font: 1rem/1.6 system-ui, sans-serif; } h1 { font-size: 1.2rem; } ul { padding-left: 1.2rem; }"
)


class ViewServer:
    """Serves fields at `address` until it is closed.

    Paths are `/SECRET/` (the first field, or a list), `/SECRET/N/` (the page of field N) and below it `field`,
    `original`, `events` and `stop`. Nothing is looked up in a folder, so no other file can be asked for.

    >>> with ViewServer([]) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, shown: Sequence[Shown]) -> None:
        self.shown = list(shown)
        self.secret = secrets.token_urlsafe(16)
        self._http = _Http((HOST, 0), _Handler)
        self._http.view = self
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=self._http.serve_forever, daemon=True)]
        if files := [each for each in self.shown if isinstance(each, FileShown)]:
            self._threads.append(threading.Thread(target=self._watch, args=(files,), daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self.secret}/"

    def close(self) -> None:
        """Stop serving; streams that are open end."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def closing(self) -> bool:
        return self._closing.is_set()

    def wait(self) -> None:
        """Until the server is closed, or Ctrl-C."""
        while not self._closing.wait(1.0):
            pass

    def _watch(self, files: list[FileShown]) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            for each in files:
                each.look()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    view: ViewServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: browsers close connections all the time."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address holds the secret."""

    def do_GET(self) -> None:
        found = self._found()
        if found is None:
            return
        shown, rest = found
        if shown is None:
            self._listing()
        elif rest in ("", "field"):
            self._made(shown, rest)
        elif rest == "events":
            self._events(shown)
        elif rest == "original" and (data := shown.original()) is not None:
            self._send(data, "application/octet-stream")
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _made(self, shown: Shown, what: str) -> None:
        """The page of a field, or the field itself; or an error: its file is damaged, or it cannot be shown."""
        try:
            if what == "":
                data, kind = shown.page().encode(), "text/html; charset=utf-8"
            else:
                data, kind = shown.field(), "application/octet-stream"
        except (ExportError, FileError) as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"{shown.name}: {error}")
            return
        self._send(data, kind)

    def do_POST(self) -> None:
        found = self._found()
        if found is None:
            return
        shown, rest = found
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            self._refuse(HTTPStatus.FORBIDDEN)
        elif shown is None or rest != "stop" or not shown.stop():
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._send(b"{}", "application/json")

    def _found(self) -> tuple[Shown | None, str] | None:
        """The field and the rest of the path; None if the request was answered already."""
        view = self.server.view
        # Another site that has its name point to this machine would send its own name.
        if self.headers.get("Host") not in (f"{HOST}:{view.port}", f"localhost:{view.port}"):
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        parts = self.path.partition("?")[0].split("/")
        if len(parts) < 3 or not secrets.compare_digest(parts[1].encode(), view.secret.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        if parts[2:] == [""]:
            if len(view.shown) == 1:
                self._redirect(f"/{view.secret}/0/")
                return None
            return None, ""
        number = parts[2]
        if len(parts) != 4 or not number.isascii() or not number.isdecimal() or int(number) >= len(view.shown):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return view.shown[int(number)], parts[3]

    def _listing(self) -> None:
        items = "".join(
            f'<li><a href="{i}/">{text(each.name)}</a></li>' for i, each in enumerate(self.server.view.shown)
        )
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        head += f'<link rel="icon" href="data:,"><title>Fields</title><style>{LISTING_STYLE}</style>'
        page = f'<!DOCTYPE html><html lang="en"><head>{head}</head><body><h1>Fields</h1><ul>{items}</ul></body></html>'
        self._send(page.encode(), "text/html; charset=utf-8", policy=policy(LISTING_STYLE, ""))

    def _events(self, shown: Shown) -> None:
        """Tell of every change until the browser leaves or the server closes."""
        self.send_response(HTTPStatus.OK)
        self._headers("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        version = -1
        while not self.server.view.closing:
            now, told = shown.wait(version)
            line = f"data: {json.dumps({'version': now, **told})}\n\n" if now != version else ": still here\n\n"
            version = now
            try:
                self.wfile.write(line.encode())
                self.wfile.flush()
            except OSError:
                return

    def _headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Frame-Options", "DENY")

    def _send(self, data: bytes, kind: str, *, policy: str | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self._headers(kind)
        if policy is not None:
            self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _redirect(self, to: str) -> None:
        self.send_response(HTTPStatus.FOUND)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, status: HTTPStatus, why: str = "") -> None:
        told = why.encode()
        self.send_response(status)
        self._headers("text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)
