"""Whose library is loaded: this user's own, whole, from a folder that nobody else can write to."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from staf._scratch import scratch_name
from staf.ops import kernel_cache, native

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler here")

Find = Callable[[Path | str], ctypes.CDLL]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Path:
    """The library as this machine builds it, without optimisation, which takes a quarter of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "FLAGS", tuple("-O0" if flag == "-O3" else flag for flag in native.FLAGS))
        return native._compile(native._compiler(), Path(native.__file__).parent, tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def find(kernels, monkeypatch, caplog) -> Find:
    """Find or build the library with a cache in a folder; what is built is a copy."""

    def compiled(compiler: str, root: Path, scratch: Path) -> Path:
        assert os.path.isabs(compiler)
        return Path(shutil.copy(kernels, scratch / "kernels.so"))

    def found(cache: Path | str) -> ctypes.CDLL:
        monkeypatch.setattr(native, "_compile", compiled)
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        caplog.clear()
        with caplog.at_level(logging.WARNING, "staf"):
            library = native._find_or_build()
        assert library.staf_series_value
        return library

    return found


@pytest.fixture
def built(find, tmp_path_factory) -> Path:
    """The library in a cache folder."""
    root = tmp_path_factory.mktemp("built")
    find(root)
    (path,) = (root / "staf").iterdir()
    return path


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> tuple[bytes, Path]:
    """A library that leaves a mark when it is loaded, and where the mark appears."""
    folder = tmp_path_factory.mktemp("planted")
    mark = folder / "mark"
    (folder / "a.c").write_text(
        "#include <stdio.h>\n"
        f'__attribute__((constructor)) static void run(void) {{ FILE *f = fopen("{mark}", "w"); if (f) fclose(f); }}\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "a.so", folder / "a.c"], check=True)
    return (folder / "a.so").read_bytes(), mark


def key_of(built: Path) -> str:
    return built.name.split("-")[1]


def named(key: str, content: bytes) -> str:
    return kernel_cache._name(key, content)


def plant(folder: Path, built: Path, content: bytes) -> Path:
    folder.mkdir(mode=0o700)
    path = folder / named(key_of(built), content)
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def test_a_library_in_a_folder_that_others_can_write_to_is_not_loaded(tmp_path, find, built, planted, caplog):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    (tmp_path / "staf").chmod(0o777)
    find(tmp_path)
    assert "can be written to by other users" in caplog.text
    assert "chmod go-w" in caplog.text
    assert not mark.exists()


def test_a_folder_in_a_folder_open_to_everybody_is_not_used(tmp_path, find, built, planted, caplog):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    tmp_path.chmod(0o777)
    find(tmp_path)
    assert f"chmod o-w {tmp_path}" in caplog.text
    assert not mark.exists()
    tmp_path.chmod(0o1777)
    find(tmp_path)
    assert mark.exists(), "with the sticky bit the folder is trusted, and this library was whole and the user's own"
    mark.unlink()


@pytest.mark.parametrize("way", ["writable", "link", "owner"])
def test_a_library_that_is_not_the_users_alone_is_replaced(tmp_path, find, built, planted, caplog, way):
    content, mark = planted
    path = plant(tmp_path / "staf", built, content)
    if way == "writable":
        path.chmod(0o666)
    elif way == "link":
        path.rename(tmp_path / "elsewhere.so")
        path.symlink_to(tmp_path / "elsewhere.so")
    elif os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        pytest.skip("only the administrator can give a file away")
    find(tmp_path)
    assert caplog.text == ""
    assert not mark.exists()
    assert [entry.name for entry in (tmp_path / "staf").iterdir()] == [built.name]


def test_a_folder_of_another_user_is_not_used(tmp_path, find, built, planted, caplog):
    if os.geteuid() != 0:
        pytest.skip("only the administrator can give a folder away")
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    os.chown(tmp_path / "staf", 12345, -1)
    find(tmp_path)
    assert "belongs to user 12345, not to you (user 0)" in caplog.text
    assert not mark.exists()


@pytest.mark.parametrize("keep", [0, 4096, -1])
def test_a_library_cut_short_is_built_again(tmp_path, find, built, caplog, keep):
    whole = built.read_bytes()
    (tmp_path / "staf").mkdir(mode=0o700)
    copy = tmp_path / "staf" / built.name
    copy.write_bytes(whole[:keep])
    copy.chmod(0o600)
    find(tmp_path)
    assert caplog.text == ""
    (again,) = (tmp_path / "staf").iterdir()
    assert len(again.read_bytes()) == len(whole)


def test_a_library_without_our_functions_is_built_again(tmp_path, find, built, planted, caplog):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    find(tmp_path)
    (again,) = (tmp_path / "staf").iterdir()
    assert again.stat().st_size == built.stat().st_size
    mark.unlink()


def test_what_killed_builds_left_is_removed(tmp_path, find):
    folder = tmp_path / "staf"
    folder.mkdir(mode=0o700)
    dead = subprocess.run(
        [sys.executable, "-c", "from staf._scratch import scratch_name; print(scratch_name())"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    (folder / dead).mkdir()
    (folder / dead / "kernels.so").write_bytes(b"half")
    (folder / scratch_name()).mkdir()
    find(tmp_path)
    left = [entry.name for entry in folder.iterdir()]
    assert dead not in left
    assert len(left) == 2, "the build under way in this process stays"


def test_relative_paths_are_not_used(tmp_path, find, built, monkeypatch):
    """Neither for the cache nor for the compiler: what they name depends on where the command is run."""
    (tmp_path / "cc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    find("cache")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cc", "home"]
    assert [entry.name for entry in (tmp_path / "home" / ".cache" / "staf").iterdir()] == [built.name]
