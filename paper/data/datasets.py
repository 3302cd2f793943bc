"""The paper's data sets: where they are published, what is downloaded, and what the user must fetch by hand.

    python -m paper.data.datasets --list
    python -m paper.data.datasets kodak --to data/kodak

Every experiment takes a folder with `--data`; this fills one where a data set may be downloaded without an account.
Licences are those of the data sets: most are for research only.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, cast

from paper.data.download import BLOCK, download
from staf._files import atomic_path

STANFORD = "https://graphics.stanford.edu/"
KODAK = "https://r0k.us/graphics/kodak/kodak/"
ARCHIVES = (".tar.gz", ".tgz")
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Args:
        summary: what it is and its terms.
        files: name in the folder -> address.
        checksums: of the files whose checksum is known.
        keep: members of archives that are unpacked, by the end of their names; nothing is unpacked without it.
        below: the folder of an archive below which members keep their folders; without it files are flat.
        by_hand: what to do where it cannot be downloaded.
    """

    summary: str
    files: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    below: str = ""
    by_hand: str = ""


DATASETS: dict[str, Dataset] = {
    "kodak": Dataset(
        "Kodak, 24 photographs of 768x512; released for unrestricted use",
        {f"kodim{n:02d}.png": f"{KODAK}kodim{n:02d}.png" for n in range(1, 25)},
    ),
    "div2k": Dataset(
        "DIV2K, the validation set: 100 photographs of 2K; academic research",
        {"DIV2K_valid_HR.zip": "https://data.vision.ee.ethz.ch/cvl/DIV2K/DIV2K_valid_HR.zip"},
        {"DIV2K_valid_HR.zip": "20dd31fd84d777bc1cf5d6b7654a3f569c0aec74458ae094122ad1d0489900fc"},
        keep=(".png",),
    ),
    "celeba": Dataset(
        "CelebA, aligned faces of 178x218; non-commercial research",
        by_hand="accept the terms on the CelebA page of the Multimedia Laboratory (CUHK), download "
        "img_align_celeba.zip and name the folder of its JPEG files with --data",
    ),
    "bach": Dataset(
        "seven seconds of Bach's first cello suite, of the SIREN repository; MIT",
        {"gt_bach.wav": "https://raw.githubusercontent.com/vsitzmann/siren/master/data/gt_bach.wav"},
        {"gt_bach.wav": "023940a1bcc534349e16ff46f360ffbfffa993842961dbed955c168fd2f38190"},
    ),
    "stanford": Dataset(
        "Armadillo, Dragon, Lucy and the Thai statue of the Stanford 3D Scanning Repository; research",
        {
            "Armadillo.ply.gz": f"{STANFORD}pub/3Dscanrep/armadillo/Armadillo.ply.gz",
            "dragon_recon.tar.gz": f"{STANFORD}pub/3Dscanrep/dragon/dragon_recon.tar.gz",
            "lucy.tar.gz": f"{STANFORD}data/3Dscanrep/lucy.tar.gz",
            "xyzrgb_statuette.ply.gz": f"{STANFORD}data/3Dscanrep/xyzrgb/xyzrgb_statuette.ply.gz",
        },
        {
            "Armadillo.ply.gz": "8b9b56cc36e66d54429b1e1e75bd89e833645bfe0dc7c1afd1205877a7356a3f",
            "dragon_recon.tar.gz": "74ac1d90989c9b1732edee82d57e9ce71452144cf4355f108d8c9c616d28d02f",
            "lucy.tar.gz": "c4beb1f7bfa965643bbbf889bd1849a4b4b955e95c731941be61e6edac65616a",
            "xyzrgb_statuette.ply.gz": "1d867b6540c02935caa777bd6746429a62d4a5d23f11c9bfdfebbaa90c05ca8b",
        },
        # The archive of the dragon holds coarser copies of it, too.
        keep=("armadillo.ply", "dragon_vrip.ply", "lucy.ply", "xyzrgb_statuette.ply"),
    ),
    "nerf-lego": Dataset(
        "the Blender scene lego of NeRF, from its authors' example data; CC BY-NC",
        {
            "nerf_example_data.zip": "https://cseweb.ucsd.edu/~viscomp/projects/LF/papers/ECCV20/nerf/nerf_example_data.zip"
        },
        keep=(".png", ".json"),
        below="nerf_synthetic",
    ),
    "nerf-synthetic": Dataset(
        "all Blender scenes of NeRF, of which the paper has lego, drums, chair, hotdog and ship; CC BY-NC",
        by_hand="download nerf_synthetic.zip from the NeRF authors' page and name its folder, or that of a scene, with "
        "--data",
    ),
    "tokyo": Dataset(
        "a panorama of Shibuya, 6144x2324 in the paper",
        by_hand="download the panorama that the paper cites (Dobson, 2018) and name its file with --images",
    ),
}


def fetch(name: str, folder: Path) -> list[Path]:
    """Download a data set into a folder and unpack what experiments read; the files."""
    dataset = DATASETS[name]
    if not dataset.files:
        raise ValueError(f"{name} cannot be downloaded without you: {dataset.by_hand}")
    found = []
    for file, address in dataset.files.items():
        path = download(address, folder / file, dataset.checksums.get(file))
        found += unpack(path, folder, dataset.keep, dataset.below) if dataset.keep else [path]
    return found


def unpack(path: Path, folder: Path, keep: Sequence[str], below: str = "") -> list[Path]:
    """Files of an archive whose names end in `keep`: no member can be written outside of the folder."""
    found: dict[Path, str] = {}
    try:
        for member, packed in _members(path):
            place = _place(member, below)
            if place is None or not member.lower().endswith(tuple(keep)):
                continue
            target = folder / place
            if target in found:
                raise ValueError(f"two members would be written to {target}: {found[target]!r} and {member!r}")
            found[target] = member
            if not target.exists():
                with atomic_path(target) as temporary, open(temporary, "wb") as file:
                    for block in _blocks(packed):
                        file.write(block)
    except (*DAMAGE, _DamagedError) as error:
        raise ValueError(f"{path} is damaged or no archive: {error}; delete it and try again") from error
    return list(found)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and contents of each file of an archive, one after another."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    with archive.open(entry) as packed:
                        yield entry.filename, packed
    elif path.name.endswith(ARCHIVES):
        with tarfile.open(path) as tar:
            for member in tar:
                if member.isfile() and (file := tar.extractfile(member)) is not None:
                    yield member.name, file
    elif path.suffix == ".gz":
        with gzip.open(path) as single:
            yield path.stem, cast("IO[bytes]", single)


def _blocks(packed: IO[bytes]) -> Iterator[bytes]:
    """What a member holds; damage is told apart from a disk that cannot be written."""
    try:
        while block := packed.read(BLOCK):
            yield block
    except DAMAGE as error:
        raise _DamagedError(str(error)) from error


class _DamagedError(Exception):
    """An archive cannot be read to its end."""


def _place(member: str, below: str) -> PurePosixPath | None:
    """Where a member is written within the folder; None if nowhere.

    >>> _place("../../a.png", ""), _place("x/scenes/lego/a.png", "scenes"), _place("scenes/../../a.png", "scenes")
    (PurePosixPath('a.png'), PurePosixPath('lego/a.png'), None)
    """
    parts = PurePosixPath(member).parts
    if not below:
        return PurePosixPath(parts[-1])
    inside = parts[parts.index(below) + 1 :] if below in parts else ()
    return None if not inside or ".." in inside else PurePosixPath(*inside)


def listing() -> str:
    """Every data set with its terms, and how it is had."""
    lines = []
    for name, dataset in DATASETS.items():
        files = ", ".join(dataset.files) if len(dataset.files) < 5 else f"{len(dataset.files)} files"
        how = f"downloaded: {files}" if dataset.files else f"by hand: {dataset.by_hand}"
        lines.append(f"{name:16}{dataset.summary}\n{'':16}{how}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, or 2 with a sentence."""
    parser = argparse.ArgumentParser(prog="python -m paper.data.datasets", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(DATASETS), metavar="NAME")
    parser.add_argument("--to", type=Path, metavar="DIR", help="the folder to fill (default: data/NAME)")
    parser.add_argument("--list", action="store_true", help="show all data sets")
    options = parser.parse_args(argv)
    if options.list or options.name is None:
        print(listing())
        return 0
    try:
        for path in fetch(options.name, options.to or Path("data") / options.name):
            print(path)
    except (OSError, ValueError) as error:
        print(f"datasets: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("datasets: stopped; rerun the same command to continue with the files that are missing", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
