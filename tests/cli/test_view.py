from __future__ import annotations

import numpy as np
import pytest
import torch

import staf as library
from staf.cli.export import HOLDING
from staf.kinds import Image
from staf.storage import FileError
from staf.training import Recipe
from staf.viewer import TARGETS, LiveView, ViewServer, serve
from tests.viewer.test_server import ask


@pytest.fixture
def photo(here):
    y, x = np.mgrid[0:12, 0:16] / 16
    pixels = (np.stack([x, y, (x + y) / 2], axis=-1) * 255).astype(np.uint8)
    field = library.siren(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0))
    fit = library.fit(Image(pixels, name="photo"), field, Recipe(steps=3, rate=3e-3), progress=False)
    return fit.save("run/model.safetensors")


def test_the_command_knows_every_format_that_holds_a_field():
    assert set(HOLDING) == set(TARGETS)


@pytest.mark.parametrize("suffix", HOLDING)
def test_a_field_is_exported_as_itself(staf, photo, here, suffix):
    pytest.importorskip("onnx")
    ran = staf("export", "run", "-o", f"photo{suffix}", "--json")
    assert ran.json["bytes"] == (here / f"photo{suffix}").stat().st_size
    assert "exists" in staf("export", photo, "-o", f"photo{suffix}").refused()


def test_pages_in_half_and_what_has_no_effect(staf, photo, here):
    assert staf("export", photo, "-o", "half.html", "--half").out.endswith("kB, the field itself\n")
    for words, message in (
        (["-o", "new.html", "--scale", "2"], "--scale has no effect on .html"),
        (["-o", "new.png", "--half"], "--half is for .html"),
        (["-o", "new.onnx", "--half"], "--half is for .html"),
        (
            ["-o", "new.pdf"],
            "is written as .png, .jpg, .jpeg, .tif, .tiff, .webp, .npy, .html, .onnx, .c, .glsl, .wgsl",
        ),
    ):
        assert message in staf("export", photo, *words).refused()
    assert not list(here.glob("new*"))


def test_what_no_format_can_hold_is_refused_in_a_line(staf, here):
    field = library.siren(2, 3, width=300, depth=3)
    library.FittedField(field, {}).save("wide.safetensors")
    assert "a shader can hold 16,384" in staf("export", "wide.safetensors", "-o", "wide.glsl").refused()


def test_fields_of_a_folder_become_pages(staf, here):
    for name in "ab":
        (here / "pictures").mkdir(exist_ok=True)
        Image(np.full((6, 6), 9, np.uint8)).save(here / "pictures" / f"{name}.png")
    assert staf("fit-many", "pictures", "--steps", 2, "--out", "many", "--no-progress").code == 0
    assert staf("export", "many", "-o", "pages", "--format", "html").code == 0
    assert sorted(path.name for path in (here / "pages").iterdir()) == ["a.html", "b.html"]
    assert "--size has no effect" in staf("export", "many", "-o", "x", "--format", "c", "--size", "3x3").refused()


def test_view_serves_the_field_until_it_is_stopped(staf, photo, monkeypatch):
    seen = []

    def look(server: ViewServer) -> None:
        seen.append(ask(server, f"/{server.secret}/0/field")[0])
        raise KeyboardInterrupt

    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(ViewServer, "wait", look)
    ran = staf("view", "run")
    assert (ran.code, seen) == (0, [200])
    assert ran.out.startswith(opened[0])
    address = staf("view", photo, "--no-browse", "--json").json["address"]
    assert address.startswith("http://127.0.0.1:")
    assert len(opened) == 1


def test_fields_of_a_set_are_shown_and_exported(staf, here, monkeypatch):
    pictures = {"a": np.full((6, 8), 9, np.uint8), "b": np.full((6, 8), 200, np.uint8)}
    small = library.Plan(lambda generator: library.siren(2, 1, width=8, depth=1, generator=generator), Recipe(steps=2))
    images = [Image(pixels, name=name) for name, pixels in pictures.items()]
    library.fit_many(images, plan=small, out="set", shards=True, progress=False)
    seen = []

    def look(server: ViewServer) -> None:
        seen.extend(ask(server, f"/{server.secret}/{path}") for path in ("", "1/", "1/field", "2/field"))

    monkeypatch.setattr(ViewServer, "wait", look)
    assert staf("view", "set", "--no-browse").code == 0
    assert [status for status, _, _ in seen] == [200, 200, 200, 404]
    assert b'<a href="1/">b</a>' in seen[0][1]

    assert staf("export", "set", "-o", "pages", "--format", "html").out == "pages: 2 of 2 fields\n"
    assert staf("export", "set", "-o", "pictures", "--scale", 2).out == "pictures: 2 of 2 fields\n"
    one = library.FittedField(*library.FieldSet("set").load("b"))
    assert np.array_equal(library.open("pictures/b.png").array, one.render(scale=2).array)
    assert "set holds 2 fields: name a folder with --out" in staf("export", "set", "-o", "b.html").refused()
    assert staf("export", "memory://nowhere/set", "-o", "x").refused().startswith("memory://nowhere/set has")

    # A set behind a URL is shown and exported alike.
    library.FieldSet("set").copy("memory://here/set")
    seen.clear()
    assert staf("view", "memory://here/set", "--no-browse").code == 0
    assert [status for status, _, _ in seen] == [200, 200, 200, 404]
    assert staf("export", "memory://here/set", "-o", "from-url", "--scale", 2).out == "from-url: 2 of 2 fields\n"
    assert (here / "from-url" / "b.png").read_bytes() == (here / "pictures" / "b.png").read_bytes()
    with pytest.raises(FileError, match=r"give build=staf\.FittedField"):
        serve("set", library.load, browse=False)


def test_view_refuses_what_is_no_field(staf, picture):
    assert "is not a safetensors file" in staf("view", picture, "--no-browse").refused()
    assert "does not exist" in staf("view", "missing.safetensors", "--no-browse").refused()


def test_a_fit_is_shown_and_the_report_links_to_its_page(staf, picture, here, monkeypatch):
    done, opened = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    original = LiveView.done
    monkeypatch.setattr(LiveView, "done", lambda self, field: (done.append(self.wait(-1)[1]), original(self, field)))
    ran = staf("fit", picture, "--steps", 3, "--out", "run", "--view", "--no-progress")
    assert ran.code == 0
    assert f"live view: {opened[0]}" in ran.err
    assert (done[0]["step"], done[0]["steps"]) == (3, 3)
    assert (here / "run/view.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert '<a href="view.html">Open in the viewer</a>' in (here / "run/report.html").read_text("utf-8")
