"""Recordings that were cut, that do not say how long they are, and small files that announce much."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from staf.kinds import Audio
from staf.kinds import open as open_signal
from staf.kinds.audio.wholeness import _frame_length
from staf.signals import SignalError
from tests.kinds.audio.test_signal import tone
from tests.kinds.bounded import bounded

MP3 = pytest.mark.skipif("MP3" not in soundfile.available_formats(), reason="this libsndfile has no MP3")
FORMATS = ["wav", "flac", "ogg", pytest.param("mp3", marks=MP3)]


def refused(path, message, **options):
    with bounded(), pytest.raises(SignalError, match=message) as caught:
        open_signal(path, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("seconds", [1, 8])
def test_every_cut_is_said(tmp_path, suffix, seconds):
    noise = np.random.default_rng(0).normal(0, 0.1, (22050 * seconds, 2)).clip(-1, 1).astype(np.float32)
    path = tmp_path / f"a.{suffix}"
    Audio(noise, 22050).save(path)
    assert open_signal(path).samples == len(noise)
    data = path.read_bytes()
    for kept in np.linspace(70, len(data) - 4, 40).astype(int):
        path.write_bytes(data[:kept])
        refused(path, "damaged or cut short")


def test_pages_that_are_missing_are_said(tmp_path):
    path = tmp_path / "a.ogg"
    Audio(np.random.default_rng(0).normal(0, 0.1, 200_000).clip(-1, 1).astype(np.float32), 44100).save(path)
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(b"OggS")])
    assert open_signal_refuses(path) == "its last page is not there"
    path.write_bytes(data + b"TAG" + bytes(125))
    assert open_signal(path).samples == 200_000


def open_signal_refuses(path) -> str:
    with pytest.raises(SignalError) as caught:
        open_signal(path)
    return str(caught.value).partition("cut short: ")[2]


@pytest.mark.parametrize("announced", [0xFFFFFFFF, 0x7FFFF000])
def test_a_wav_from_a_stream_is_read_to_its_end_and_said(tmp_path, announced):
    path = tmp_path / "a.wav"
    Audio(tone(1000), 8000).save(path)
    data = bytearray(path.read_bytes())
    at = data.find(b"data")
    data[at + 4 : at + 8] = announced.to_bytes(4, "little")
    path.write_bytes(data)
    audio = open_signal(path)
    assert audio.samples == 1000
    assert audio.notes == ["its header does not say how long it is: all that is there is read"]
    data[at + 4 : at + 8] = bytes(4)
    path.write_bytes(data)
    refused(path, "announces no samples, and 2,000 bytes follow")


def test_a_flac_of_unknown_length_is_read_to_its_end_and_said(tmp_path):
    path = tmp_path / "a.flac"
    Audio(tone(200_000), 8000).save(path)
    whole = open_signal(path).array
    data = bytearray(path.read_bytes())
    # The number of samples: the low half of byte 21, and the four behind it.
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    path.write_bytes(data)
    audio = open_signal(path)
    assert np.array_equal(audio.array, whole)
    assert audio.notes == ["its header does not say how long it is: all that is there is read"]
    refused(path, "at most 1000 are read", max_pixels=1000)


@MP3
@pytest.mark.parametrize("rate", [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_mp3_of_every_rate_comes_back(tmp_path, rate, channels):
    Audio(tone(30_000, rate, channels), rate).save(tmp_path / "a.mp3")
    again = open_signal(tmp_path / "a.mp3")
    assert (again.rate, again.out_features, again.samples) == (rate, channels, 30_000)


@MP3
@pytest.mark.parametrize("rate", [44100, 22050, 8000])
@pytest.mark.parametrize("channels", [1, 2])
def test_mp3_without_a_first_frame_that_counts(tmp_path, rate, channels):
    """Its length is only estimated by libsndfile, from the first frames: what is behind it would be lost in silence."""
    loud = np.random.default_rng(0).normal(0, 0.2, (100_000, channels)).clip(-1, 1).astype(np.float32)
    for parts, at in (((np.zeros_like(loud), loud), 150_000), ((loud, np.zeros_like(loud)), 50_000)):
        path = tmp_path / "a.mp3"
        soundfile.write(path, np.concatenate(parts), rate, format="MP3", bitrate_mode="VARIABLE")
        data = path.read_bytes()
        whole = open_signal(path).array
        path.write_bytes(data[_frame_length(data[:4]) :])
        audio = open_signal(path)
        assert (audio.rate, audio.out_features) == (rate, channels)
        # The frame that counts also says how many samples of silence the encoder has added.
        shift = next(n for n in range(4000) if np.array_equal(audio.array[at + n : at + n + 99], whole[at : at + 99]))
        assert len(whole) <= len(audio.array) - shift < len(whole) + 4000
        assert np.array_equal(audio.array[shift:][2000 : len(whole) - 2000], whole[2000:-2000])
        path.write_bytes(data[_frame_length(data[:4]) : -100])
        refused(path, r"its last frame has \d+ of \d+ bytes")


@MP3
def test_tags_around_an_mp3_are_no_part_of_it(tmp_path):
    path = tmp_path / "a.mp3"
    Audio(tone(30_000, 44100), 44100).save(path)
    tagged = b"ID3\x04\0\0\0\0\x02\0" + bytes(256) + path.read_bytes() + b"TAG" + bytes(125)
    path.write_bytes(tagged)
    assert open_signal(path).samples == 30_000
    path.write_bytes(tagged[:-600] + tagged[-128:])
    refused(path, "bytes of sound are there")


@MP3
@pytest.mark.parametrize("counted", [True, False])
def test_what_follows_an_mp3_is_left_alone_or_said(tmp_path, counted, capfd):
    """A tag of some kilobytes is common; libsndfile itself fails on it."""
    path = tmp_path / "a.mp3"
    Audio(tone(30_000, 44100), 44100).save(path)
    data = path.read_bytes()[0 if counted else 417 :]
    path.write_bytes(data + b"APETAGEX" + bytes(5000))
    assert abs(open_signal(path).samples - 30_000) < 4000
    if not counted:
        path.write_bytes(data[:2000] + bytes(5000) + data[2000:])
        refused(path, "no frame follows byte")
    assert capfd.readouterr().err == ""


def test_a_flac_that_goes_on_in_zeros_is_refused_at_once(tmp_path):
    path = tmp_path / "a.flac"
    Audio(tone(100_000), 8000).save(path)
    data = path.read_bytes()
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
        file.truncate(9 << 30)
    refused(path, "and its header announces no more than")


def test_limits_hold_for_all_channels_together(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros((100, 6)), 8000)
    assert open_signal(tmp_path / "a.wav", max_pixels=600).out_features == 6
    refused(tmp_path / "a.wav", "it holds 100 samples in 6 channels, and at most 599 are read", max_pixels=599)
    soundfile.write(tmp_path / "b.wav", np.zeros((10, 65)), 8000)
    refused(tmp_path / "b.wav", "audio must have 1 to 64 channels, got 65")


@pytest.mark.parametrize("channels", [1, 2, 60])
def test_a_sparse_wav_of_gigabytes_is_refused_at_once(tmp_path, channels):
    path = tmp_path / "a.wav"
    soundfile.write(path, np.zeros((1, channels)), 8000, subtype="PCM_16", format="RF64" if channels == 60 else "WAV")
    data = bytearray(path.read_bytes())
    at = data.find(b"data")
    size = 0xFFFFFFFF if channels == 60 else 4 * 10**9
    data[at + 4 : at + 8] = size.to_bytes(4, "little")
    with path.open("wb") as file:
        file.write(data)
        file.truncate(9 * 10**9)
    refused(path, "at most 400000000 are read|no known format|damaged")


def test_a_tiny_flac_that_announces_hours_is_refused_at_once(tmp_path):
    path = tmp_path / "a.flac"
    Audio(tone(1000), 8000).save(path)
    data = bytearray(path.read_bytes())
    data[22:26] = (390_000_000).to_bytes(4, "big")
    path.write_bytes(data)
    refused(path, "390000000 samples in 1 channels, 1,560,000,000 bytes, in a file that holds")


def test_thousands_of_chunks_are_refused(tmp_path):
    Audio(tone(10), 8000).save(tmp_path / "a.wav")
    data = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(data[:12] + (b"junk" + bytes(4)) * 100_000 + data[12:])
    refused(tmp_path / "a.wav", "more than 10,000 chunks")
