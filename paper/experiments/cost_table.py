"""Parameters, operations with the activations counted, quality, times and memory (Table "Performance comparison")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.data.preparation import Preparation
from paper.report.pictures import groups_of, reconstructions
from paper.report.side_by_side import SHORT, machine, row_of
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row
from staf._tables import Table, mean, number

ROWS = (
    Row("staf, tau 5", "staf"),
    Row("staf, tau 10", "staf", {"terms": 10}),
    Row("incode", "incode"),
    Row("finer", "finer"),
    Row("wire", "wire"),
    Row("mfn", "mfn"),
    Row("gauss", "gauss"),
    Row("ffn, 5 bands", "ffn", {"bands": 5}),
    Row("ffn", "ffn"),
    Row("siren", "siren"),
    Row("pemlp", "pemlp", {"bands": 7}),
)
# Forward operations as the paper's counter sees them (thousands in print), and quality on its "tiger" image.
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "staf, tau 5": {"parameters": 198_975, "flops": 395.78e3, "psnr": 39.94, "ssim": 0.973, "lpips": 0.005},
    "staf, tau 10": {"parameters": 199_035, "flops": 395.78e3, "psnr": 40.84, "ssim": 0.979, "lpips": 0.003},
    "incode": {"parameters": 436_775, "flops": 6.85e9, "psnr": 38.19, "ssim": 0.962, "lpips": 0.011},
    "finer": {"parameters": 198_915, "flops": 395.78e3, "psnr": 36.55, "ssim": 0.950, "lpips": 0.017},
    "wire": {"parameters": 99_915, "flops": 198.38e3, "psnr": 32.76, "ssim": 0.885, "lpips": 0.058},
    "mfn": {"parameters": 204_291, "flops": 398.85e3, "psnr": 33.87, "ssim": 0.942, "lpips": 0.020},
    "gauss": {"parameters": 198_915, "flops": 395.78e3, "psnr": 32.21, "ssim": 0.888, "lpips": 0.070},
    "ffn, 5 bands": {"parameters": 204_035, "flops": 406.02e3, "psnr": 35.31, "ssim": 0.944, "lpips": 0.037},
    "siren": {"parameters": 198_915, "flops": 395.78e3, "psnr": 33.55, "ssim": 0.928, "lpips": 0.062},
    "pemlp": {"parameters": 206_083, "flops": 411.14e3, "psnr": 30.10, "ssim": 0.856, "lpips": 0.150},
}


def cost_table(results: Sequence[RunResult]) -> Table:
    """What each network costs: counts, and what was measured where it was run."""
    columns = ["network", "parameters, published", "parameters", "forward FLOPs, published", "matrix products"]
    columns += ["with activations", "activations add", "forward and backward"]
    groups = groups_of(results)
    measured = [(p, key) for p in groups for key in ("training_seconds", "inference_seconds", "memory")]
    columns += [f"{HEADINGS[key]}, {SHORT[p]}" for p, key in measured]
    first = {row_of(result): result.details for result in reversed(results)}
    rows = []
    for name in [row.name for row in ROWS if row.name in PUBLISHED or row.name in first]:
        theirs = PUBLISHED.get(name, {})
        cells = [name, _count(theirs.get("parameters"))]
        cells.append(_count(first[name]["parameters"]) if name in first else "not run")
        cells.append(_count(theirs.get("flops")))
        if name in first:
            products, other = (int(first[name]["operations"][key]) for key in ("products", "elementwise"))
            # A backward pass has two products for each of the forward pass.
            cells += [
                _count(products),
                _count(products + other),
                f"{other / products:.1%}",
                _count(3 * (products + other)),
            ]
        else:
            cells += ["-"] * 4
        rows.append(cells + [_measured(groups[p].get(name, []), key) for p, key in measured])
    title = f"Operations of one point, a multiplication and its sum counted as two ({machine(results)})"
    return Table(title, columns, rows)


HEADINGS = {"training_seconds": "training (s)", "inference_seconds": "inference (s)", "memory": "memory (GiB)"}


def _measured(members: Sequence[RunResult], key: str) -> str:
    values = [float(r.details[key]) for r in members if r.details.get(key) is not None]
    if not values:
        return "-"
    return number(mean(values) / (2**30 if key == "memory" else 1), 5 if key == "inference_seconds" else 2)


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def tables(results: Sequence[RunResult]) -> list[Table]:
    """The costs, and the quality on the images that were run."""
    return [cost_table(results), *IMAGES.side_by_side(results)]


IMAGES = ImageStudy(
    "cost-table",
    "Every network on one image: what it costs and how well it fits, 500 iterations",
    ROWS,
    Length(500, epochs=True),
    PUBLISHED,
    Preparation(divide=4),
    figures={"cost-table-pictures": reconstructions},
    needs="one image of DIV2K at full size (the paper calls its own the tiger), which is divided by 4",
    time="11 rows x 2 recipes: 30 min on an H200",
    make_tables=tables,
)
STUDY = IMAGES.study()
