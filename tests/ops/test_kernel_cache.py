"""Whose library is loaded: this user's own, whole, from a folder that nobody else can write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from staf._scratch import scratch_name
from staf.ops import kernel_cache, native
from tests.ops.test_native import SHORT, run

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler here")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A cache folder with the library as this machine builds it."""
    root = tmp_path_factory.mktemp("built")
    assert "compiled" in run(SHORT, XDG_CACHE_HOME=str(root)).stdout
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


def test_a_library_in_a_folder_that_others_can_write_to_is_not_loaded(tmp_path, built, planted):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    (tmp_path / "staf").chmod(0o777)
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "('sine', 'compiled')" in done.stdout
    assert "can be written to by other users" in done.stderr
    assert "chmod go-w" in done.stderr
    assert not mark.exists()


def test_a_folder_in_a_folder_open_to_everybody_is_not_used(tmp_path, built, planted):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    tmp_path.chmod(0o777)
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert f"chmod o-w {tmp_path}" in done.stderr
    assert not mark.exists()
    tmp_path.chmod(0o1777)
    run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert mark.exists(), "with the sticky bit the folder is trusted, and this library was whole and the user's own"
    mark.unlink()


@pytest.mark.parametrize("way", ["writable", "link", "owner"])
def test_a_library_that_is_not_the_users_alone_is_replaced(tmp_path, built, planted, way):
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
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "compiled" in done.stdout
    assert done.stderr == ""
    assert not mark.exists()
    assert [entry.name for entry in (tmp_path / "staf").iterdir()] == [built.name]


def test_a_folder_of_another_user_is_not_used(tmp_path, built, planted):
    if os.geteuid() != 0:
        pytest.skip("only the administrator can give a folder away")
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    os.chown(tmp_path / "staf", 12345, -1)
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "belongs to user 12345, not to you (user 0)" in done.stderr
    assert not mark.exists()


@pytest.mark.parametrize("keep", [0, 4096, -1])
def test_a_library_cut_short_is_built_again(tmp_path, built, keep):
    whole = built.read_bytes()
    (tmp_path / "staf").mkdir(mode=0o700)
    copy = tmp_path / "staf" / built.name
    copy.write_bytes(whole[:keep])
    copy.chmod(0o600)
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "('sine', 'compiled')" in done.stdout
    assert done.stderr == ""
    (again,) = (tmp_path / "staf").iterdir()
    assert len(again.read_bytes()) == len(whole)


def test_a_library_without_our_functions_is_built_again(tmp_path, built, planted):
    content, mark = planted
    plant(tmp_path / "staf", built, content)
    done = run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert "('sine', 'compiled')" in done.stdout
    (again,) = (tmp_path / "staf").iterdir()
    assert again.stat().st_size == built.stat().st_size
    mark.unlink()


def test_what_killed_builds_left_is_removed(tmp_path, built):
    folder = tmp_path / "staf"
    folder.mkdir(mode=0o700)
    dead = subprocess.run(
        [sys.executable, "-c", "from staf._scratch import scratch_name; print(scratch_name())"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    (folder / dead).mkdir()
    (folder / dead / "kernels.so").write_bytes(b"half")
    (folder / scratch_name()).mkdir()
    run(SHORT, XDG_CACHE_HOME=str(tmp_path))
    left = [entry.name for entry in folder.iterdir()]
    assert dead not in left
    assert len(left) == 2, "the build under way in this process stays"


def test_relative_paths_are_not_used(tmp_path, built):
    """Neither for the cache nor for the compiler: what they name depends on where the command is run."""
    (tmp_path / "cc").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    merged = {**os.environ, "XDG_CACHE_HOME": "cache", "HOME": str(tmp_path / "home")}
    merged["PATH"] = f".:{os.environ['PATH']}"
    merged["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in sys.path if part)
    done = subprocess.run(
        [sys.executable, "-c", SHORT], capture_output=True, text=True, env=merged, check=True, cwd=tmp_path
    )
    assert "('sine', 'compiled')" in done.stdout
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cc", "home"]
    assert [entry.name for entry in (tmp_path / "home" / ".cache" / "staf").iterdir()] == [built.name]
