"""Codes of both kinds have the same search, on other pictures than those that are measured."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from paper.experiments.do_sines_help import STUDY
from paper.sines.code_arms import CODE_ARMS, code_spec, run_codes, small_faces
from paper.sines.code_tables import code_table
from paper.sines.codes import CodeSpec

FACES = np.random.default_rng(0).integers(0, 256, (10, 4, 4, 3), np.uint8)


def _run(faces=FACES, **settings):
    told = {"width": 6, "steps": 2, "seeds": [0, 1], "device": "cpu", "length": 12, "batch": 2} | settings
    return run_codes("sines of layers", faces, **told)


def test_every_setting_is_searched_and_the_best_is_learnt():
    _, details = _run(rates=(1e-3, 3e-3), step_factors=(1.0,), code_rates=(1e-9, 1e-2))
    assert set(details["search"]) == {
        f"{r}, steps x1, codes {c}" for r in ("0.001", "0.003") for c in ("1e-09", "0.01")
    }
    found = f"{details['rate']:g}, steps x{details['step_factor']:g}, codes {details['code_rate']:g}"
    assert found == max(details["search"], key=details["search"].get)
    assert details["pictures"] == [6, 2, 2]
    assert _run(rates=(1e-3,), step_factors=(1.0,), code_rates=(1e-2,))[1]["search"] == {}


def test_the_search_does_not_see_the_new_pictures():
    other = FACES.copy()
    other[8:] = 255 - other[8:]
    settings = {"rates": (1e-3, 3e-3), "step_factors": (1.0,), "code_rates": (1e-2,)}
    (one, first), (two, second) = _run(**settings), _run(other, **settings)
    assert first["search"] == second["search"]
    assert first["held_out"] == second["held_out"]
    assert one["psnr"] != two["psnr"]


def test_codes_have_one_length_and_about_one_number_of_shared_parameters():
    shifts = CodeSpec("shifts", 60, 64)
    for arm, (_, as_wide) in CODE_ARMS.items():
        spec = code_spec(arm, 64)
        assert spec.length == 60
        assert (spec.width == 64) if as_wide else (spec.shared == pytest.approx(shifts.shared, rel=0.03))


def test_faces_are_middle_squares_made_smaller():
    tall = np.zeros((8, 4, 3), np.uint8)
    tall[2:6] = 200
    assert small_faces([tall, np.full((2, 2, 3), 9, np.uint8)], 2)[:, 0, 0, 0].tolist() == [200, 9]


def test_seeds_that_ran_apart_are_one_row():
    class Run:
        def __init__(self, seed):
            self.configuration = {"part": "codes", "arm": "shifts (COIN++)", "steps": 5}
            values = {"after 3 steps": [1.0], "after 100 steps": [2.0 + seed]}
            self.details = {"code": 12, "width": 6, "rate": 1e-3, "parameters": 9, "values": values}

    (row,) = code_table([Run(0), Run(1)]).rows
    assert row[:4] == ["shifts (COIN++)", "", "1.00 ± 0.00", "2.50 ± 0.50"]
    assert row[-1] == "2"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--code-length", "10"], "--code-length must be a multiple of 12, got 10"),
        (["--faces", "a.png"], "--faces must be at least 5 pictures, got 1"),
    ],
)
def test_what_codes_cannot_be_made_of_is_refused(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", FACES[0])
    parser = argparse.ArgumentParser()
    STUDY.add_arguments(parser)
    arguments = parser.parse_args([word.replace(".png", ".npy") for word in words])
    arguments.quick = False
    with pytest.raises(ValueError, match=message):
        STUDY.sweep(arguments)
