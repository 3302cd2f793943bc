from __future__ import annotations

import io

import numpy as np
import pytest

from staf.figures import Contender, comparison
from staf.figures.comparison import busiest_box
from staf.training import History

HISTORY = History([0, 1, 2], [0.1, 0.01, 0.001], [1.0, 1.0, 1.0], [0.5, 1.0, 1.5])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((40, 60, 3), "uint8"), ((40, 60, 1), "uint16"), ((9, 200, 4), "uint8"), ((1, 1, 2), "float32")],
)
def test_every_kind_of_image_is_drawn(shape: tuple[int, int, int], dtype: str) -> None:
    top = 1.0 if dtype == "float32" else float(np.iinfo(dtype).max)
    target = (np.random.default_rng(0).random(shape) * top).astype(dtype)
    figure = comparison(target, [Contender(name, target, 40.0, HISTORY) for name in ("one", "two")])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)
    assert buffer.getvalue().startswith(b"\x89PNG")


def test_titles_name_each_model_with_its_decibels() -> None:
    flat = np.zeros((30, 30, 3), np.uint8)
    figure = comparison(flat, [Contender("staf", flat, 41.234, HISTORY), Contender("siren", flat, 38.0, HISTORY)])
    titles = [axes.get_title() for axes in figure.subfigs[0].axes]
    assert titles[:3] == ["target", "staf  41.23 dB", "siren  38.00 dB"]


def test_the_errors_share_one_scale() -> None:
    target = np.zeros((20, 20, 3), np.uint8)
    good, bad = target + np.uint8(2), target + np.uint8(100)
    figure = comparison(target, [Contender("bad", bad, 8.0, HISTORY), Contender("good", good, 42.0, HISTORY)])
    images = [axes.images[0] for axes in figure.subfigs[0].axes if axes.images]
    limits = [image.get_clim() for image in images if image.get_cmap().name == "inferno"]
    assert limits == [(0.0, pytest.approx(100 / 255))] * 2


def test_the_close_up_is_where_the_errors_are() -> None:
    error = np.zeros((50, 80))
    error[35:40, 60:66] = 1
    rows, columns = busiest_box(error)
    assert rows.start <= 35 < 40 <= rows.stop
    assert columns.start <= 60 < 66 <= columns.stop
    assert (rows.stop - rows.start, columns.stop - columns.start) == (20, 20)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"contender 'staf' must have the target's shape \(4, 4, 3\)"):
        comparison(np.zeros((4, 4, 3)), [Contender("staf", np.zeros((4, 5, 3)), 1.0, HISTORY)])
    with pytest.raises(ValueError, match="at least one"):
        comparison(np.zeros((4, 4, 3)), [])
