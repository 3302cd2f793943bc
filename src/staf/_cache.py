"""The one cache folder of the project: what was computed once and can be computed again.

What is kept there is loaded later, some of it as code. So it must be this user's own: a folder or file that belongs to
somebody else, or that others can write to, is not used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/staf`, or staf's folder where the system keeps caches (`~/.cache/staf` on Linux).

    Always absolute; nothing is made. A relative `XDG_CACHE_HOME` is ignored, as its specification asks.

    >>> cache_folder().is_absolute(), cache_folder().name
    (True, 'staf')
    """
    told = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(told):
        return Path(told) / "staf"
    home = Path.home()
    if not home.is_absolute():
        raise RuntimeError(f"the home folder must be an absolute path, got {str(home)!r}")
    try:
        import platformdirs
    except ImportError:
        return home / ".cache" / "staf"
    found = Path(platformdirs.user_cache_dir("staf", appauthor=False))
    return found if found.is_absolute() else home / ".cache" / "staf"


def private_folder(folder: Path) -> Path:
    """Make `folder` for this user alone where it is missing, and return its real path once it is known to be safe.

    Raises PermissionError, with the reason and the remedy, if somebody else owns it or could change what is in it.
    """
    if not folder.is_absolute():
        raise PermissionError(f"the folder must be an absolute path, got {str(folder)!r}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
    check_private(real)
    for ancestor in {*folder.parents, *real.parents}:
        mode = ancestor.stat().st_mode
        # In a folder that anyone can write to, anyone can put another folder in the place of this one. The sticky bit,
        # which /tmp has, keeps them from it.
        if os.name == "posix" and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise PermissionError(f"{ancestor} can be written to by everybody: chmod o-w {ancestor}")
    return real


def check_private(path: Path) -> None:
    """Raise PermissionError unless `path` is this user's own file or folder, no link, and writable by nobody else."""
    if os.name != "posix":
        return
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise PermissionError(f"{path} is a symbolic link: remove it")
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to user {status.st_uid}, not to you (user {os.geteuid()}): remove it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path} can be written to by other users: remove it, or chmod go-w {path}")
