"""Publish the weights of networks fitted to a data set: `python -m paper weights --data DIR --out SET`.

`--data` is a folder of images, or of folders of images whose names become the tag "label", or the word `digits` (the
1,797 digits of 8x8 that scikit-learn carries). The set gets a card (README.md), a note on its licence and checksums.
Rerun the same command to continue an interrupted run.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from paper.data.datasets import DATASETS
from paper.data.preparation import Preparation
from staf._files import WriteError, atomic_write
from staf.nn.networks import NETWORKS, network_named
from staf.planning.plans import NetworkFactory
from staf.signals import SignalError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".npy")
CARD, LICENCE, SUMS = "README.md", "LICENCE.txt", "SHA256SUMS"
PREPARATIONS = {"celeba": Preparation(crop=(178, 178), size=(128, 128))}
TERMS = {
    "digits": "Optical Recognition of Handwritten Digits (UCI), the copy of scikit-learn; CC BY 4.0",
    **{name: dataset.summary for name, dataset in DATASETS.items()},
}
NOTE = (
    "Each network reproduces the image that it was fitted to. The terms of the images therefore apply to the weights "
    "as well. Terms of the images: "
)


@dataclass(frozen=True)
class Picture:
    """An image to fit: its name, its pixels or its file, and its tags."""

    name: str
    source: Any
    tags: dict[str, Any]


def digits() -> list[Picture]:
    """The digits of scikit-learn, 8x8 with 17 levels of grey."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    data = load_digits()
    return [
        Picture(f"{number:05d}", np.rint(image * (255 / 16)).astype(np.uint8), {"label": int(label)})
        for number, (image, label) in enumerate(zip(data.images, data.target, strict=True))
    ]


def pictures(folder: Path) -> list[Picture]:
    """The images of a folder, or of its folders, which are their labels."""
    if not folder.is_dir():
        raise ValueError(f"--data must be a folder of images or the word digits, got {folder}")
    found = [Picture(path.stem, path, {}) for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    for inner in sorted(path for path in folder.iterdir() if path.is_dir()):
        found += [
            Picture(f"{inner.name}-{path.stem}", path, {"label": inner.name})
            for path in sorted(inner.iterdir())
            if path.suffix.lower() in SUFFIXES
        ]
    if not found:
        raise ValueError(f"--data must hold images ({', '.join(SUFFIXES)}), and {folder} holds none")
    return found


@dataclass(frozen=True)
class Opening:
    """Opens a picture when its turn comes, crops and resizes it, and gives it its name."""

    name: str
    source: Any
    preparation: Preparation | None

    def __call__(self) -> Any:
        signal = staf.open(self.source)
        signal = staf.Image(self.preparation(signal.array)) if self.preparation is not None else signal
        signal.name = self.name
        return signal


def channels_of(openings: Sequence[Opening]) -> int:
    """The channels of the first picture that can be read; the fits of the others say what is wrong with them."""
    for opening in openings:
        with contextlib.suppress(SignalError, OSError, ValueError):
            return int(opening().out_features)
    return 3


def plan(options: argparse.Namespace, channels: int) -> staf.Plan:
    """One network and recipe for all, so that their weights can be compared."""
    arguments = {"width": options.width, "depth": options.depth}
    if options.omega0 is not None:
        arguments["omega0"] = options.omega0
    factory = NetworkFactory(network_named(options.model), 2, channels, arguments)
    return staf.Plan(factory, staf.recipes.default(steps=options.steps))


def publish(options: argparse.Namespace) -> staf.FieldSet:
    """Fit what is missing, then write the card, the licence note and the checksums."""
    out: Path = options.out
    known = options.data if options.data in TERMS else Path(options.data).name
    terms = options.licence or TERMS.get(known)
    if terms is None:
        raise ValueError("--licence must say under which terms the images are, because the weights reproduce them")
    given = digits() if options.data == "digits" else pictures(Path(options.data))
    given = given[: options.limit]
    openings = [Opening(picture.name, picture.source, PREPARATIONS.get(known)) for picture in given]
    chosen = plan(options, channels_of(openings))
    outcome = staf.fit_many(
        openings,
        plan=chosen,
        seed=options.seed,
        device=options.device,
        out=out,
        shards=True,
        cluster=options.cluster,
        at_once=options.at_once,
        tags=[picture.tags for picture in given],
        resume=(out / "set.json").exists(),
    )
    for name, reason in outcome.failures.items():
        print(f"{name} failed: {reason}", file=sys.stderr)
    fields = staf.FieldSet(out)
    atomic_write(out / LICENCE, NOTE + terms + ".\n")
    atomic_write(out / CARD, card(fields, known, terms, chosen))
    atomic_write(out / SUMS, checksums(out))
    return fields


def card(fields: staf.FieldSet, data: str, terms: str, chosen: staf.Plan) -> str:
    """What the set is, how it was made, how good it is, and how it is read."""
    values = sorted(entry.metrics["psnr"] for entry in fields.entries)
    architecture = getattr(chosen.field(0), "architecture", None)
    tags = sorted({name for entry in fields.entries for name in entry.tags})
    fifth, half, top = (values[int(share * (len(values) - 1))] for share in (0.05, 0.5, 0.95))
    parameters = sum(parameter.numel() for parameter in chosen.field(0).parameters())
    return f"""# Networks fitted to {data}

{len(fields):,} networks of {parameters:,} parameters, one for each image, all from the same start.

| | |
|---|---|
| network | `{architecture}` |
| recipe | `{chosen.recipe.to_plain()}` |
| seed of every start | {fields.settings["seed"]} |
| PSNR (final weights, all pixels, clamped, peak 1) | mean {statistics.mean(values):.2f} dB; 5% {fifth:.2f}, \
median {half:.2f}, 95% {top:.2f} |
| tags | {", ".join(tags) or "none"} |
| staf, torch | {staf.__version__}, {torch.__version__} |
| inputs that failed | {len(fields.failures)} |

```python
import staf
fields = staf.FieldSet("FOLDER"{', target="label"' if "label" in tags else ""})
weights = fields.weights(0)                        # tensors by name
image = staf.FittedField(*fields.load(0)).render() # what the network shows
```

Check the files with `sha256sum -c {SUMS}`. They are safetensors and JSON; nothing is unpickled.

## Licence

{NOTE}{terms}.
"""


def checksums(folder: Path) -> str:
    """SHA-256 of every file of the set, as sha256sum reads them."""
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SUMS and not path.name.startswith("."):
            with open(path, "rb") as file:
                lines.append(
                    f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder).as_posix()}"
                )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str]) -> int:
    """Exit code 0, or 2 with a sentence."""
    parser = argparse.ArgumentParser(prog="python -m paper weights", description=__doc__)
    parser.add_argument("--data", required=True, metavar="DIR", help="a folder of images, or digits")
    parser.add_argument("--out", required=True, type=Path, metavar="SET", help="the folder of the set")
    parser.add_argument("--licence", metavar="TEXT", help="terms of the images, where they are not known by name")
    parser.add_argument("--model", default="staf", choices=list(NETWORKS), metavar="NAME")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--omega0", type=float, help="frequency of the first layer (default: the network's own)")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--limit", type=int, metavar="N", help="the first N images only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    parser.add_argument("--at-once", type=int, metavar="N", help="networks that train together")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Ray cluster: local, auto or its address")
    try:
        fields = publish(parser.parse_args(argv))
    except (ValueError, WriteError, ImportError) as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"{stop}; rerun the same command to continue", file=sys.stderr)
        return 130
    mean = statistics.mean(entry.metrics["psnr"] for entry in fields.entries)
    print(f"{len(fields)} networks, mean PSNR {mean:.2f} dB: {fields.place}/{CARD}")
    return 0
