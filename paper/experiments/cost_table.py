"""Parameters, operations with the activations counted, quality, times and memory (Table "Performance comparison")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.data.preparation import Preparation
from paper.report.pictures import groups_of, reconstructions
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy
from paper.study.rows import LABELS, Length, Row
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
# Networks that read their target: what they are without the reader, which runs once a pass and not once a point.
FIELD_ALONE = {"incode": {"harmoniser": None}}
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


def costs(rows: Sequence[Row] = ROWS) -> dict[str, dict[str, int]]:
    """Row -> parameters, operations of matrix products, of activations and other elementwise work; needs no training.

    Of INCODE the operations are those of the field alone.
    """
    from paper.measures.operations import operations
    from staf.nn import NETWORKS

    found = {}
    for row in rows:
        factory = NETWORKS[row.model].factory
        parameters = sum(p.numel() for p in factory(2, 3, device="meta", **row.arguments).parameters())
        counted = operations(factory(2, 3, **{**row.arguments, **FIELD_ALONE.get(row.model, {})}), 2)
        found[row.name] = {
            "parameters": parameters,
            "products": counted.products,
            "elementwise": counted.elementwise,
        }
    return found


def cost_table(found: Mapping[str, Mapping[str, int]], results: Sequence[RunResult]) -> Table:
    """What each network costs: counts, and what was measured where it was run."""
    columns = ["network", "paper: parameters", "parameters", "paper: forward FLOPs", "matrix products"]
    columns += ["with activations", "activations add", "forward and backward"]
    groups = groups_of(results)
    measured = [(p, key) for p in groups for key in ("training_seconds", "inference_seconds", "memory")]
    columns += [f"{LABELS[p]}: {HEADINGS[key]}" for p, key in measured]
    rows = []
    for name, cost in found.items():
        theirs = PUBLISHED.get(name, {})
        total = cost["products"] + cost["elementwise"]
        cells = [name, _count(theirs.get("parameters")), f"{cost['parameters']:,}", _count(theirs.get("flops"))]
        cells += [f"{cost['products']:,}", f"{total:,}", f"{cost['elementwise'] / cost['products']:.1%}"]
        # A backward pass is two of each product.
        cells.append(f"{3 * total:,}")
        cells += [_measured(groups[p].get(name, []), key) for p, key in measured]
        rows.append(cells)
    return Table("Costs of one point, forward, a multiplication and its sum counted as two", columns, rows)


HEADINGS = {"training_seconds": "training (s)", "inference_seconds": "inference (s)", "memory": "memory (GiB)"}


def _measured(members: Sequence[RunResult], key: str) -> str:
    values = [float(r.details[key]) for r in members if r.details.get(key) is not None]
    if not values:
        return "-"
    return number(mean(values) / (2**30 if key == "memory" else 1), 4 if key == "inference_seconds" else 2)


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def tables(results: Sequence[RunResult]) -> list[Table]:
    """The costs, and the quality on the images that were run."""
    return [cost_table(costs(), results), *IMAGES.side_by_side(results)]


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
