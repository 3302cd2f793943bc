from __future__ import annotations

import socket

import pytest

from staf.kinds import SAMPLES, sample_photo
from staf.signals import SignalError


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_opens_without_a_network(name, monkeypatch):
    monkeypatch.setattr(socket, "socket", None)
    photo = sample_photo(name)
    assert photo.name == name
    assert min(photo.shape) >= 256
    assert photo.out_features in (1, 3)


def test_the_default_is_a_colour_photo():
    assert sample_photo().array.shape == (512, 512, 3)


def test_unknown_names_are_refused():
    with pytest.raises(SignalError, match=r"one of astronaut, .*got 'lena'"):
        sample_photo("lena")
