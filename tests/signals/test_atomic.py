from __future__ import annotations

import os
import stat

import pytest

from staf.signals import SignalError
from staf.signals.atomic import atomic_path


def fail_while_writing(path, error):
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("bug"), KeyboardInterrupt()])
def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.png"
    path.write_text("old")
    expected = SignalError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        fail_while_writing(path, error)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(SignalError, match=r"cannot write '.*a\.png': the disk is full"):
        fail_while_writing(tmp_path / "a.png", OSError(28, "No space left on device"))


def test_folders_that_do_not_exist_and_folders_themselves_are_refused(tmp_path):
    with pytest.raises(SignalError, match="does not exist"):
        fail_while_writing(tmp_path / "no" / "a.png", RuntimeError())
    with pytest.raises(SignalError, match="it is a folder"):
        fail_while_writing(tmp_path, RuntimeError())


def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_new_files_get_the_usual_permissions(tmp_path):
    with atomic_path(tmp_path / "a") as temporary:
        temporary.write_text("x")
    (tmp_path / "b").write_text("x")
    assert os.stat(tmp_path / "a").st_mode == os.stat(tmp_path / "b").st_mode
