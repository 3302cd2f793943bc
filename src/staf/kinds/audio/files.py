"""Audio from and into files: WAV, FLAC, OGG, and MP3 where libsndfile has it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staf._extras import need
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.audio.signal import Audio

FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".oga": "OGG", ".mp3": "MP3"}
LOSSY = {"OGG": "VORBIS", "MP3": "MPEG_LAYER_III"}
BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
# Beyond this, neighbours on [-1, 1] are fewer than eight float32 steps apart: 95 seconds at 44.1 kHz.
LONGEST = 2**22
# Frames handed to an encoder at once: the Vorbis encoder overflows its stack on minutes of samples in one call.
BLOCK = 1 << 16


def read_audio(path: Path, limit: int) -> Audio:
    """Reads any file that libsndfile decodes, of at most `limit` sample times; the header is checked first."""
    soundfile = need("audio", "soundfile")

    from staf.kinds.audio.signal import Audio

    try:
        with soundfile.SoundFile(str(path)) as file:
            if file.frames > limit:
                raise SignalError(f"it holds {file.frames} samples, and at most {limit} are read")
            samples = file.read(dtype="float32", always_2d=True)
            rate, subtype = file.samplerate, file.subtype
    except soundfile.LibsndfileError as error:
        raise SignalError(f"its audio cannot be decoded ({error.error_string.rstrip('. ')})") from error
    notes = []
    full = int((np.abs(samples) >= 1 - 1 / 32768).sum()) if samples.size else 0
    if full > 1:
        notes.append(f"{full} samples are at full scale: the recording may be clipped, and is fitted as it is")
    if len(samples) > LONGEST:
        notes.append(
            f"{len(samples)} samples lie closer on one axis than float32 tells apart well: staf fit-windows "
            "(staf.fit_windows) fits them in windows"
        )
    return Audio(samples, rate, subtype=subtype, notes=notes)


def write_audio(audio: Audio, path: str | os.PathLike[str]) -> Path:
    """Writes `audio` to `path` in the format of its suffix; `Audio.save` says what is kept."""
    soundfile = need("audio", "soundfile")

    format, subtype = stored_as(audio, path)
    with (
        atomic_path(path) as temporary,
        _explained(format, audio.out_features, audio.rate),
        soundfile.SoundFile(
            str(temporary), "x", audio.rate, audio.out_features, subtype=subtype, format=format
        ) as file,
    ):
        for start in range(0, audio.samples, BLOCK):
            block = audio.array[start : start + BLOCK]
            file.write(_as_integers(block, BITS[subtype]) if subtype in BITS else block)
    return Path(path)


def check_format(path: str | os.PathLike[str], channels: int, rate: int) -> None:
    """Refuses what the format of `path` cannot hold, before anything is computed.

    >>> check_format("a.wav", 2, 12345)
    """
    soundfile = need("audio", "soundfile")

    format = format_of(path)
    with _explained(format, channels, rate):
        soundfile.SoundFile(io.BytesIO(), "w", rate, channels, format=format).close()


@contextmanager
def _explained(format: str, channels: int, rate: int) -> Iterator[None]:
    soundfile = need("audio", "soundfile")

    try:
        yield
    except soundfile.LibsndfileError as error:
        reason = error.error_string.removeprefix("Error : ").rstrip(". ")
        raise SignalError(f"{format} cannot hold {channels} channels at {rate} Hz ({reason})") from error


def stored_as(audio: Audio, path: str | os.PathLike[str]) -> tuple[str, str]:
    """Format and subtype of a file of `audio` at `path`, such that no sample is clipped.

    >>> from staf.kinds import Audio
    >>> stored_as(Audio(np.array([0.5], np.float32), 8000), "a.wav")
    ('WAV', 'PCM_16')
    >>> stored_as(Audio(np.array([1.5], np.float32), 8000, subtype="FLOAT"), "a.wav")
    ('WAV', 'FLOAT')
    """
    soundfile = need("audio", "soundfile")

    format = format_of(path)
    loudest = float(np.abs(audio.array).max())
    if loudest > 1 and format != "WAV":
        raise SignalError(
            f"{format} holds samples in [-1, 1], and audio {audio.name!r} reaches {loudest:g}: save it as .wav, "
            "which keeps floats"
        )
    if format in LOSSY:
        return format, LOSSY[format]
    if loudest > 1:
        return format, audio.subtype if audio.subtype == "DOUBLE" else "FLOAT"
    if audio.subtype not in BITS and audio.subtype not in ("FLOAT", "DOUBLE"):
        return format, "PCM_16"
    if not soundfile.check_format(format, audio.subtype):
        return format, "PCM_24"
    return format, audio.subtype


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a suffix names, where this build of libsndfile has it.

    >>> format_of("a song.FLAC")
    'FLAC'
    """
    soundfile = need("audio", "soundfile")

    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SignalError(f"audio is saved as {', '.join(FORMATS)}; got {str(path)!r}")
    format = FORMATS[suffix]
    if format not in soundfile.available_formats():
        raise SignalError(f"this build of libsndfile cannot write {format}: save {str(path)!r} as .wav or .flac")
    return format


def _as_integers(samples: np.ndarray, bits: int) -> np.ndarray:
    """Samples rounded to `bits` and laid in the high end of int32, from which libsndfile takes them as they are.

    Left to itself libsndfile would scale by 2^(bits-1) - 1, and a file read and written would change.
    """
    top = 2 ** (bits - 1)
    levels = np.clip(np.rint(samples.astype(np.float64) * top), -top, top - 1).astype(np.int64)
    return (levels << (32 - bits)).astype(np.int32)
