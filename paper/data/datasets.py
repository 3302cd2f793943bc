"""The paper's data sets: where they are published, what is downloaded, and what the user must fetch by hand.

    python -m paper.data.datasets --list
    python -m paper.data.datasets kodak --to data/kodak

Every experiment takes a folder with `--data`; this fills one where a data set may be downloaded without an account.
Licences are those of the data sets: most are for research only.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from paper.data.download import download
from staf._files import atomic_path

STANFORD = "http://graphics.stanford.edu/pub/3Dscanrep/"
KODAK = "http://r0k.us/graphics/kodak/kodak/"
ARCHIVES = (".zip", ".tar.gz", ".tgz")


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Args:
        summary: what it is and its terms.
        files: name in the folder -> address.
        checksums: of the files whose checksum is known.
        keep: members of archives that are unpacked, by suffix; nothing is unpacked without it.
        by_hand: what to do where it cannot be downloaded.
    """

    summary: str
    files: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    by_hand: str = ""


DATASETS: dict[str, Dataset] = {
    "kodak": Dataset(
        "Kodak, 24 photographs of 768x512; released for unrestricted use",
        {f"kodim{n:02d}.png": f"{KODAK}kodim{n:02d}.png" for n in range(1, 25)},
    ),
    "div2k": Dataset(
        "DIV2K, the validation set: 100 photographs of 2K; academic research",
        {"DIV2K_valid_HR.zip": "http://data.vision.ee.ethz.ch/cvl/DIV2K/DIV2K_valid_HR.zip"},
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
            "Armadillo.ply.gz": f"{STANFORD}armadillo/Armadillo.ply.gz",
            "dragon_recon.tar.gz": f"{STANFORD}dragon/dragon_recon.tar.gz",
            "lucy.tar.gz": f"{STANFORD}lucy.tar.gz",
            "xyzrgb_statuette.ply.gz": "http://graphics.stanford.edu/data/3Dscanrep/xyzrgb/xyzrgb_statuette.ply.gz",
        },
        keep=(".ply",),
    ),
    "nerf-synthetic": Dataset(
        "Blender scenes of NeRF: lego, drums, chair, hotdog, ship; CC BY-NC",
        by_hand="download nerf_synthetic.zip from the NeRF authors' page and name the folder of a scene with --data",
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
        found += unpack(path, folder, dataset.keep) if dataset.keep else [path]
    return found


def unpack(path: Path, folder: Path, keep: Sequence[str]) -> list[Path]:
    """Files of an archive whose names end in `keep`, flat in the folder: no member can be written outside of it."""
    found = []
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if member.lower().endswith(tuple(keep)):
                    found.append(_write(folder / PurePosixPath(member).name, archive.read(member)))
    elif path.name.endswith(ARCHIVES):
        with tarfile.open(path) as archive:
            for entry in archive:
                file = archive.extractfile(entry) if entry.isfile() else None
                if file is not None and entry.name.lower().endswith(tuple(keep)):
                    found.append(_write(folder / PurePosixPath(entry.name).name, file.read()))
    elif path.suffix == ".gz":
        import gzip

        with gzip.open(path) as packed:
            found.append(_write(path.with_suffix(""), packed.read()))
    return found


def _write(path: Path, data: bytes) -> Path:
    if not path.exists():
        with atomic_path(path) as temporary:
            Path(temporary).write_bytes(data)
    return path


def listing() -> str:
    """Every data set with its terms, and how it is had."""
    lines = []
    for name, dataset in DATASETS.items():
        how = f"{len(dataset.files)} files are downloaded" if dataset.files else f"by hand: {dataset.by_hand}"
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
