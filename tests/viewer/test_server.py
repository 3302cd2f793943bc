"""The local server answers to its own address alone, and shows what it was given alone."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import staf
from staf.storage import FileError
from staf.viewer.opening import fields_of, serve
from staf.viewer.server import ViewServer
from tests.export.fields import image_field
from tests.viewer.conftest import Page


def ask(server: ViewServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    image_field(width=8, depth=2).save(tmp_path / "model.safetensors")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[ViewServer]:
    with serve(folder, staf.load, browse=False) as server:
        yield server


def test_a_field_that_cannot_be_shown_says_why(tmp_path: Path):
    field = image_field(width=8, depth=2)
    torch.nn.init.constant_(field.module.output.bias, float("nan"))
    field.save(tmp_path / "broken.safetensors")
    with serve(tmp_path / "broken.safetensors", staf.load, browse=False) as server:
        for rest in ("", "field"):
            status, told, headers = ask(server, f"/{server.secret}/0/{rest}")
            assert (status, headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
            assert told == b"broken: cannot make a page: the field holds a number that is not finite"


def test_the_page_and_its_field(server: ViewServer):
    base = f"/{server.secret}/"
    status, _, headers = ask(server, base)
    assert (status, headers["Location"]) == (302, f"{base}0/")
    status, page, headers = ask(server, f"{base}0/")
    assert status == 200
    assert b"connect-src 'self'" in page
    assert headers["X-Frame-Options"] == "DENY"
    status, data, _ = ask(server, f"{base}0/field")
    length = int.from_bytes(data[:4], "little")
    description = json.loads(data[4 : 4 + length])
    assert description["view"] == {"type": "picture", "colours": True}
    assert length % 4 == 0


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/0/", "/wrong/", "/{s}/1/", "/{s}/-1/", "/{s}/0/secret.txt", "/{s}/0/../secret.txt", "/{s}/secret.txt"),
        *("/{s}/0/%2e%2e/secret.txt", "/{s}/0//secret.txt", "/{s}", "/{s}/0", "/{s}/0/stop", "/{s}/0/original"),
        "/{s}/%c2%b2/",
    ],
)
def test_nothing_else_is_served(path: str, server: ViewServer):
    status, body, _ = ask(server, path.format(s=server.secret))
    assert (status, body) == (404, b"")


def test_other_hosts_and_origins_are_refused(server: ViewServer):
    page = f"/{server.secret}/0/"
    assert ask(server, page, Host="evil.example")[0] == 403
    assert ask(server, page, Host=f"localhost:{server.port}")[0] == 200
    assert ask(server, page + "stop", "POST", Origin="http://evil.example")[0] == 403
    assert ask(server, page + "stop", "POST")[0] == 404


def test_the_server_is_on_this_machine_alone_with_a_secret_of_its_own(server: ViewServer, folder: Path):
    assert server._http.server_address[0] == "127.0.0.1"
    assert len(server.secret) >= 16
    with serve(folder, staf.load, browse=False) as other:
        assert other.secret != server.secret
        assert other.port != server.port


def test_a_changed_file_is_announced_and_a_broken_one_is_not(server: ViewServer, folder: Path):
    model = folder / "model.safetensors"
    heard: list[dict] = []

    def listen() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        connection.request("GET", f"/{server.secret}/0/events")
        answer = connection.getresponse()
        while len(heard) < 2 and (line := answer.fp.readline()):
            if line.startswith(b"data: "):
                heard.append(json.loads(line[6:]))
        connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    while not heard:
        time.sleep(0.01)
    before = ask(server, f"/{server.secret}/0/field")[1]
    whole = model.read_bytes()
    model.write_bytes(whole[:100])
    server.shown[0].look()
    assert [news["version"] for news in heard] == [0]
    assert ask(server, f"/{server.secret}/0/field")[1] == before
    image_field(width=8, depth=2, seed=5).save(model)
    os.utime(model, (1, 1))
    thread.join(120)
    assert [news["version"] for news in heard] == [0, 1]
    assert ask(server, f"/{server.secret}/0/field")[1] != before


def test_a_folder_of_many_fields_is_listed(tmp_path: Path):
    pictures = {f"<{value}>": np.full((4, 4), value, np.uint8) for value in (10, 200)}
    for name in pictures:
        (tmp_path / "fields").mkdir(exist_ok=True)
        image_field(width=8, depth=2).save(tmp_path / "fields" / f"{name}.safetensors")
    (tmp_path / "index.json").write_text(json.dumps({"fields": {name: {} for name in pictures}}))
    with serve(tmp_path, staf.load, browse=False) as server:
        status, page, _ = ask(server, f"/{server.secret}/")
        assert status == 200
        assert b'<a href="1/">&lt;200&gt;</a>' in page
        assert ask(server, f"/{server.secret}/1/field")[0] == 200
        assert ask(server, f"/{server.secret}/2/field")[0] == 404


def test_what_is_no_field_is_refused(tmp_path: Path):
    with pytest.raises(FileError, match="index"):
        fields_of(tmp_path)
    with pytest.raises(FileError, match="does not exist"):
        serve(tmp_path / "nothing.safetensors", staf.load, browse=False)


def test_the_browser_takes_the_new_field(server: ViewServer, folder: Path, page: Page):
    page.go(server.address)
    page.resize_canvas(40, 30)
    before = page.pixels()
    page.browser.until("staf.live.version === 0")
    image_field(width=8, depth=2, seed=5).save(folder / "model.safetensors")
    page.browser.until("staf.live.version === 1 && !staf.live.asking")
    after = page.pixels()
    assert np.abs(after.astype(int) - before.astype(int)).max() > 20
    assert page.browser.complaints == []
