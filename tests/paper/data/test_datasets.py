from __future__ import annotations

import gzip
import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from paper.data import datasets
from paper.data.datasets import DATASETS, Dataset, main
from paper.data.download import checksum, download


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "host"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_file_with_the_known_checksum_is_kept(host, tmp_path):
    folder, address = host
    (folder / "a.png").write_bytes(b"picture")
    path = download(address + "a.png", tmp_path / "to" / "a.png", checksum(folder / "a.png"))
    assert path.read_bytes() == b"picture"
    (folder / "a.png").write_bytes(b"other")
    assert download(address + "a.png", path).read_bytes() == b"picture", "what is there is checked and kept"


def test_another_checksum_leaves_nothing_behind(host, tmp_path):
    folder, address = host
    (folder / "a.png").write_bytes(b"picture")
    with pytest.raises(ValueError, match=r"a\.png must have the checksum 0000"):
        download(address + "a.png", tmp_path / "to" / "a.png", "0" * 64)
    assert not list((tmp_path / "to").iterdir())


def test_the_first_download_is_remembered(host, tmp_path):
    folder, address = host
    (folder / "a.png").write_bytes(b"picture")
    path = download(address + "a.png", tmp_path / "to" / "a.png")
    path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match="delete it and try again"):
        download(address + "a.png", path)
    path.unlink()
    (folder / "a.png").write_bytes(b"changed on the host")
    with pytest.raises(ValueError, match="must have the checksum"):
        download(address + "a.png", path)


def test_what_cannot_be_had_says_why(host, tmp_path, monkeypatch, capsys):
    _, address = host
    with pytest.raises(ValueError, match=r"none\.png could not be downloaded: File not found"):
        download(address + "none.png", tmp_path / "none.png")
    with pytest.raises(ValueError, match="must begin with https"):
        download("file:///etc/passwd", tmp_path / "x")
    assert main(["celeba", "--to", str(tmp_path)]) == 2
    assert "cannot be downloaded without you" in capsys.readouterr().err


def test_archives_are_unpacked_flat_and_nowhere_else(host, tmp_path, monkeypatch, capsys):
    folder, address = host
    with zipfile.ZipFile(folder / "set.zip", "w") as archive:
        archive.writestr("../../outside.png", b"1")
        archive.writestr("deep/inside.png", b"2")
        archive.writestr("readme.txt", b"3")
    with tarfile.open(folder / "set.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("/etc/mesh.ply")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"4"))
    (folder / "statue.ply.gz").write_bytes(gzip.compress(b"5"))
    made = Dataset("made", {name: address + name for name in ("set.zip", "set.tar.gz", "statue.ply.gz")},
                   keep=(".png", ".ply"))  # fmt: skip
    monkeypatch.setitem(datasets.DATASETS, "kodak", made)
    to = tmp_path / "deep" / "to"
    assert main(["kodak", "--to", str(to)]) == 0
    found = {path.name: path.read_bytes() for path in to.iterdir() if path.suffix in (".png", ".ply")}
    assert found == {"outside.png": b"1", "inside.png": b"2", "mesh.ply": b"4", "statue.ply": b"5"}
    assert not (tmp_path / "outside.png").exists()
    assert capsys.readouterr().out.count("\n") == 4


def test_every_data_set_of_the_paper_is_listed(capsys):
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    for name, dataset in DATASETS.items():
        assert name in text
        assert bool(dataset.files) != bool(dataset.by_hand)
    assert len(DATASETS["kodak"].files) == 24
