"""Writing: whole or not at all, beside other writers, past links that others laid, and after runs that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from staf import _scratch
from staf._cache import cache_folder, private_folder
from staf._files import WriteError, atomic_path, atomic_write, check_writable
from staf._scratch import is_left_over, scratch_name, sweep
from staf.cli.outputs import prepare_file, prepare_folder


def name_of_a_dead_process(suffix: str = "") -> str:
    code = f"from staf._scratch import scratch_name; print(scratch_name({suffix!r}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_write_is_whole_or_nothing(tmp_path):
    atomic_write(tmp_path / "a.txt", "first")

    def fail_half_way() -> None:
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["first"]


def test_looking_whether_a_folder_can_be_written_touches_nothing_in_it(tmp_path):
    """A link under the name that the probe once had was followed, and the file behind it emptied."""
    mine = tmp_path / "mine.txt"
    mine.write_text("a year of work")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".staf-write-test").symlink_to(mine)
    prepare_folder(out, 1)
    prepare_file(out / "new.png", overwrite=False)
    assert mine.read_text() == "a year of work"
    assert [path.name for path in out.iterdir()] == [".staf-write-test"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=r"cannot write .*file/sub: "):
        check_writable(tmp_path / "file" / "sub")


def test_processes_in_one_folder_do_not_disturb_each_other(tmp_path):
    code = """
import sys
from pathlib import Path
from staf._files import atomic_write
from staf.cli.outputs import prepare_file, prepare_folder
folder, own = Path(sys.argv[1]), sys.argv[2]
failed = 0
for _ in range(200):
    try:
        prepare_folder(folder, 1)
        prepare_file(folder / own, overwrite=True)
        atomic_write(folder / "shared", own * 1000)
    except Exception as error:
        failed, last = failed + 1, error
        print(repr(error))
print(failed)
"""
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out"), name], stdout=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    assert [process.communicate()[0].strip() for process in started] == ["0"] * 4
    (left,) = (tmp_path / "out").iterdir()
    assert left.read_text() in [name * 1000 for name in "abcd"]


def test_what_a_killed_run_left_is_removed_by_the_next_write(tmp_path, monkeypatch):
    monkeypatch.setattr(_scratch, "_swept", set())
    (tmp_path / name_of_a_dead_process(".png")).write_bytes(b"half a picture")
    atomic_write(tmp_path / "a.txt", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_only_what_is_ours_and_abandoned_is_removed(tmp_path):
    dead, live = name_of_a_dead_process(".wav"), scratch_name(".wav")
    elsewhere = ".staf-00000000-1-0123456789ab.wav"
    old_form = ".staf-0123456789ab.png"
    kept = [live, elsewhere, old_form, ".staf-write-test", ".staf-notes.txt", ".staf-0123456789abc", "staf-x"]
    for name in (dead, *kept):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").touch()
    link = name_of_a_dead_process()
    (tmp_path / link).symlink_to(tmp_path / "target")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, link, "target"])
    assert (tmp_path / "target" / "file").exists()
    long_ago = time.time() - 2 * _scratch.DAY
    for name in kept:
        os.utime(tmp_path / name, (long_ago, long_ago))
    sweep(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted([link, "target", ".staf-write-test", ".staf-notes.txt", ".staf-0123456789abc", "staf-x"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give a file away")
def test_files_of_other_users_stay(tmp_path):
    path = tmp_path / name_of_a_dead_process()
    path.touch()
    assert is_left_over(path)
    os.chown(path, 12345, -1)
    assert not is_left_over(path)


def test_odd_suffixes_make_no_odd_names(tmp_path):
    atomic_write(tmp_path / ("a." + "x" * 200), "long")
    atomic_write(tmp_path / "b.two words", "spaces")
    assert len(list(tmp_path.iterdir())) == 2
    assert not scratch_name("." + "x" * 200).endswith("x")


def test_the_cache_folder_is_absolute_and_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "staf"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "staf"
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert cache_folder() == tmp_path / ".cache" / "staf"
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(RuntimeError, match="absolute"):
        cache_folder()
    made = private_folder(tmp_path / "x" / "staf")
    assert made.stat().st_mode & 0o777 == 0o700
    with pytest.raises(PermissionError, match="absolute path, got 'relative'"):
        private_folder(Path("relative"))
    (tmp_path / "link").symlink_to(made)
    assert private_folder(tmp_path / "link") == made
    made.chmod(0o770)
    with pytest.raises(PermissionError, match="can be written to by other users"):
        private_folder(tmp_path / "link")
