"""Checked downloads: a file is kept only if its checksum is the known one, or the one it had the first time."""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

from staf._files import atomic_path, atomic_write

BLOCK = 2**20
LARGEST = 8 * 2**30
SECONDS = 60
RECORD = "checksums.json"
SCHEMES = ("https://", "http://")


def download(address: str, path: Path, sha256: str | None = None) -> Path:
    """Fetch `address` to `path`, whole or not at all; a file that is there already is checked and kept.

    Without a known `sha256` the checksum of the first download is recorded beside the file, and later ones must agree.
    """
    if not address.startswith(SCHEMES):
        raise ValueError(f"address must begin with {' or '.join(SCHEMES)}, got {address!r}")
    wanted = sha256 or recorded(path)
    if path.exists():
        check(path, wanted)
        record(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer, open(temporary, "wb") as file:
                size = int(answer.headers.get("Content-Length") or 0)
                if size > LARGEST:
                    raise ValueError(f"{address} must be at most {LARGEST:,} bytes, got {size:,}")
                received = _copied(answer, file)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise ValueError(f"{address} could not be downloaded: {getattr(error, 'reason', error)}") from error
        if size and received != size:
            raise ValueError(f"{address} was cut short: {received:,} of {size:,} bytes came; try again")
        check(Path(temporary), wanted, name=path.name)
    record(path)
    return path


def _copied(answer: IO[bytes], file: IO[bytes]) -> int:
    """Bytes copied, of which there may be `LARGEST`, whatever the host has said."""
    received = 0
    while block := answer.read(BLOCK):
        received += len(block)
        if received > LARGEST:
            raise ValueError(f"a download must be at most {LARGEST:,} bytes, and the host sends more")
        file.write(block)
    return received


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def check(path: Path, sha256: str | None, name: str | None = None) -> None:
    """Refuse a file whose checksum is not `sha256`; without one there is nothing to check."""
    if sha256 is not None and (found := checksum(path)) != sha256:
        raise ValueError(f"{name or path.name} must have the checksum {sha256}, got {found}: delete it and try again")


def recorded(path: Path) -> str | None:
    """The checksum that a file had when it was downloaded first."""
    return _recorded(path.parent / RECORD).get(path.name)


def record(path: Path) -> None:
    """Keep a file's checksum beside it."""
    listing = path.parent / RECORD
    known = _recorded(listing)
    if known.get(path.name) is None:
        atomic_write(listing, json.dumps({**known, path.name: checksum(path)}, indent=1, sort_keys=True) + "\n")


def _recorded(listing: Path) -> dict[str, str]:
    if not listing.exists():
        return {}
    try:
        return dict(json.loads(listing.read_text("utf-8")))
    except (ValueError, TypeError):
        raise ValueError(f"{listing} is damaged: delete it to record the checksums again") from None
