from __future__ import annotations

import numpy as np
import pytest
import soundfile

from staf.kinds import Audio
from staf.kinds import open as open_signal
from staf.signals import SignalError
from tests.kinds.audio.test_signal import tone

LOSSLESS = ["wav PCM_16", "wav PCM_24", "wav FLOAT", "wav PCM_U8", "flac PCM_16", "flac PCM_24"]


@pytest.mark.parametrize(("suffix", "subtype"), [entry.split() for entry in LOSSLESS])
@pytest.mark.parametrize("channels", [1, 2])
def test_lossless_files_come_back_bit_for_bit(tmp_path, suffix, subtype, channels):
    path, copy = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    noise = np.random.default_rng(0).uniform(-1, 1, (500, channels))
    noise[0], noise[1] = 1, -1
    soundfile.write(path, noise, 22050, subtype=subtype)
    audio = open_signal(path)
    assert (audio.kind, audio.rate, audio.samples, audio.out_features) == ("audio", 22050, 500, channels)
    assert (audio.name, audio.source, audio.subtype) == ("a", str(path), subtype)
    audio.save(copy)
    assert np.array_equal(soundfile.read(path, dtype="int32")[0], soundfile.read(copy, dtype="int32")[0])
    assert soundfile.info(copy).subtype == subtype


@pytest.mark.parametrize("suffix", ["ogg", "mp3"])
@pytest.mark.parametrize("channels", [1, 2])
def test_lossy_files_are_read_and_written(tmp_path, suffix, channels):
    if suffix == "mp3" and "MP3" not in soundfile.available_formats():
        pytest.skip("this libsndfile has no MP3")
    audio = Audio(tone(30000, 44100, channels), 44100)
    audio.save(tmp_path / f"a.{suffix}")
    again = open_signal(tmp_path / f"a.{suffix}")
    assert (again.rate, again.out_features) == (44100, channels)
    middle = slice(5000, 25000)
    assert np.sqrt(((again.array[middle] - audio.array[middle]) ** 2).mean()) < 0.05


def test_the_format_is_told_by_the_bytes_not_the_suffix(tmp_path):
    Audio(tone(), 8000).save(tmp_path / "a.flac")
    (tmp_path / "a.flac").rename(tmp_path / "a.dat")
    assert open_signal(tmp_path / "a.dat").rate == 8000


def test_nothing_is_clipped(tmp_path):
    loud = Audio(3 * tone(), 8000, subtype="FLOAT")
    loud.save(tmp_path / "loud.wav")
    assert np.array_equal(open_signal(tmp_path / "loud.wav").array, loud.array)
    integer = Audio(3 * tone(), 8000)
    integer.save(tmp_path / "integer.wav")
    assert open_signal(tmp_path / "integer.wav").peak == integer.peak
    with pytest.raises(SignalError, match=r"FLAC holds samples in \[-1, 1\].*1\.495.*\.wav"):
        loud.save(tmp_path / "loud.flac")
    assert not (tmp_path / "loud.flac").exists()


def test_clipped_recordings_are_accepted_and_said(tmp_path):
    soundfile.write(tmp_path / "c.wav", np.clip(4 * tone(), -1, 1), 8000)
    audio = open_signal(tmp_path / "c.wav")
    assert "may be clipped" in audio.notes[0]


def test_mistakes_are_one_sentence(tmp_path):
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 8000)
    soundfile.write(tmp_path / "nan.wav", np.array([0.5, np.nan]), 8000, subtype="FLOAT")
    (tmp_path / "cut.flac").write_bytes(b"fLaC" + bytes(60))
    Audio(tone(), 8000).save(tmp_path / "good.wav")
    # Codec number 0x9999 is nobody's.
    data = bytearray((tmp_path / "good.wav").read_bytes())
    data[20:22] = b"\x99\x99"
    (tmp_path / "codec.wav").write_bytes(data)
    for name, message in {
        "empty.wav": "length is zero",
        "nan.wav": "must be numbers",
        "cut.flac": "cannot be decoded",
        "codec.wav": "cannot be decoded",
    }.items():
        with pytest.raises(SignalError, match=message) as caught:
            open_signal(tmp_path / name)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(SignalError, match="at most 10 are read"):
        open_signal(tmp_path / "good.wav", max_pixels=10)
    with pytest.raises(SignalError, match=r"audio is saved as \.wav"):
        Audio(tone(), 8000).save(tmp_path / "a.txt")
    with pytest.raises(SignalError, match="MP3 cannot hold 3 channels"):
        Audio(tone(channels=3), 8000).save(tmp_path / "a.mp3")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "codec.wav", "cut.flac", "empty.wav", "good.wav", "nan.wav"]  # fmt: skip


def test_an_earlier_file_survives_a_failed_write(tmp_path):
    path = tmp_path / "a.flac"
    Audio(tone(), 8000).save(path)
    before = path.read_bytes()
    with pytest.raises(SignalError, match="FLAC cannot hold"):
        Audio(tone(channels=9), 8000).save(path)
    assert path.read_bytes() == before


def test_long_recordings_are_told_about_windows(tmp_path, monkeypatch):
    monkeypatch.setattr("staf.kinds.audio.files.LONGEST", 100)
    Audio(tone(101), 8000).save(tmp_path / "long.wav")
    Audio(tone(100), 8000).save(tmp_path / "short.wav")
    assert "fit_windows" in open_signal(tmp_path / "long.wav").notes[-1]
    assert open_signal(tmp_path / "short.wav").notes == []
