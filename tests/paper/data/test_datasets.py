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
from paper.data.datasets import DATASETS, Dataset, main, unpack
from paper.data.download import checksum, download


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if "cut" not in self.path:
            return super().do_GET()
        # A host that goes away half-way.
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half of it")
        self.close_connection = True


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


def test_half_a_file_is_not_kept(host, tmp_path):
    _, address = host
    with pytest.raises(ValueError, match=r"cut\.png was cut short: 10 of 100 bytes came; try again"):
        download(address + "cut.png", tmp_path / "to" / "cut.png")
    assert not list((tmp_path / "to").iterdir())
    (tmp_path / "to" / "checksums.json").write_text("{")
    (tmp_path / "to" / "a.png").write_bytes(b"picture")
    with pytest.raises(ValueError, match=r"checksums\.json is damaged"):
        download(address + "a.png", tmp_path / "to" / "a.png")


@pytest.mark.parametrize("name", ["set.zip", "set.tar.gz", "statue.ply.gz"])
def test_what_is_no_archive_is_told_and_leaves_nothing(name, tmp_path):
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match="is damaged or no archive"):
        unpack(tmp_path / name, tmp_path / "to", [".png", ".ply"])
    whole = gzip.compress(bytes(10_000))
    (tmp_path / "statue.ply.gz").write_bytes(whole[:-12])
    with pytest.raises(ValueError, match="is damaged or no archive"):
        unpack(tmp_path / "statue.ply.gz", tmp_path / "to", [".ply"])
    assert not list(tmp_path.glob("to/*"))


def test_scenes_keep_their_folders_below_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("example/nerf_synthetic/lego/train/r_0.png", b"1")
        archive.writestr("example/nerf_synthetic/lego/transforms_train.json", b"2")
        archive.writestr("example/nerf_synthetic/../../r_1.png", b"3")
        archive.writestr("example/nerf_llff_data/fern/r_0.png", b"4")
    dataset = DATASETS["nerf-lego"]
    found = unpack(tmp_path / "set.zip", tmp_path / "to", dataset.keep, dataset.below)
    assert [path.relative_to(tmp_path / "to").as_posix() for path in found] == [
        "lego/train/r_0.png", "lego/transforms_train.json",
    ]  # fmt: skip
    assert sorted(path.read_bytes() for path in tmp_path.rglob("to/**/*.*")) == [b"1", b"2"]
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("a/same.png", b"1")
        archive.writestr("b/same.png", b"2")
    with pytest.raises(ValueError, match="two members would be written to"):
        unpack(tmp_path / "set.zip", tmp_path / "flat", [".png"])


def test_of_the_dragon_the_finest_scan_alone_is_unpacked(tmp_path):
    with tarfile.open(tmp_path / "dragon_recon.tar.gz", "w:gz") as archive:
        for name in ("dragon_vrip.ply", "dragon_vrip_res2.ply", "README"):
            archive.addfile(tarfile.TarInfo(f"dragon_recon/{name}"), io.BytesIO())
    found = unpack(tmp_path / "dragon_recon.tar.gz", tmp_path / "to", DATASETS["stanford"].keep)
    assert [path.name for path in found] == ["dragon_vrip.ply"]
    (tmp_path / "Armadillo.ply.gz").write_bytes(gzip.compress(b"5"))
    found = unpack(tmp_path / "Armadillo.ply.gz", tmp_path / "to", DATASETS["stanford"].keep)
    assert [path.read_bytes() for path in found] == [b"5"]


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
    for name in ("div2k", "bach", "stanford"):
        known = DATASETS[name].checksums
        assert known.keys() == DATASETS[name].files.keys()
        assert all(len(value) == 64 for value in known.values())
    assert all(a.startswith("https://") for dataset in DATASETS.values() for a in dataset.files.values())
