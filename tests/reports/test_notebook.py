from __future__ import annotations

import staf
from staf.reports import notebook_html
from tests.reports.conftest import small_fit, small_image


def test_a_fit_shows_itself_in_notebooks(fit: staf.Fit) -> None:
    html = fit._repr_html_()
    assert html == notebook_html(fit)
    assert html.count('<img src="data:image/png;base64,') == 3
    assert f"{fit.metrics['psnr']:.2f} dB" in html
    assert "<script" not in html
    # Of one width, whatever the length of the captions below.
    assert html.count("width:256px;flex:0 1 256px") == html.count("<figure") == 3


def test_names_are_escaped(hostile_fit: staf.Fit) -> None:
    html = hostile_fit._repr_html_()
    assert html.count("<img") == 3
    assert "<script" not in html


def test_a_task_without_a_signal_has_words_only() -> None:
    fit = small_fit(small_image(8, 8), steps=1)
    fit.signal = None
    assert "<img" not in notebook_html(fit)
