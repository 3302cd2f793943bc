"""Names of files and folders that live only while something is written, and the removal of those left by killed runs.

A name is `.staf-MACHINE-PID-RANDOM`: which machine, which process, and 48 random bits, so that no two writers meet and
nobody can put a link in the way. A leftover is removed only if its name has exactly this form, it belongs to this user,
and the process that made it is dead. On another machine that cannot be known: there it must be a day old.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from pathlib import Path

DAY = 24 * 3600.0
SUFFIX = re.compile(r"\.\w{1,12}", re.ASCII)
NAME = re.compile(rf"\.staf-(?:([0-9a-f]{{8}})-([0-9]{{1,10}})-)?[0-9a-f]{{12}}(?:{SUFFIX.pattern})?", re.ASCII)

_swept: set[str] = set()


def scratch_name(suffix: str = "") -> str:
    """A name that no other writer has; the suffix stays last because many writers choose the format by it.

    >>> NAME.fullmatch(scratch_name(".png")) is not None
    True
    """
    kept = suffix if SUFFIX.fullmatch(suffix) else ""
    return f".staf-{_machine()}-{os.getpid()}-{secrets.token_hex(6)}{kept}"


def sweep_once(folder: Path) -> None:
    """Remove what killed runs left in `folder`, at the first call for it in this process."""
    if str(folder) not in _swept:
        _swept.add(str(folder))
        sweep(folder)


def sweep(folder: Path) -> None:
    """Remove what killed runs left in `folder`. Nothing is followed, and no failure is an error."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".staf-") and is_left_over(Path(entry.path)):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)


def is_left_over(path: Path) -> bool:
    """Whether `path` is a scratch file or folder of this user whose writer is gone.

    >>> is_left_over(Path(".staf-notes.txt"))
    False
    """
    found = NAME.fullmatch(path.name)
    if found is None:
        return False
    try:
        status = path.lstat()
    except OSError:
        return False
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return False
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return False
    machine, process = found.groups()
    if machine == _machine() and not _is_alive(int(process)):
        return True
    return time.time() - status.st_mtime > DAY


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@functools.cache
def _machine() -> str:
    """Eight digits for this machine since its start, and for this container: process numbers mean nothing elsewhere."""
    told = [os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")]
    with contextlib.suppress(OSError):
        told.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        told.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:8]
