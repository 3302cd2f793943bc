"""Audio from and into files: WAV, FLAC, OGG, and MP3 where libsndfile has it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from staf._extras import need
from staf.kinds.audio.wholeness import NOT_SAID, check_whole
from staf.kinds.limits import check_not_padded, check_ratio
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError, damaged

if TYPE_CHECKING:
    import soundfile

    from staf.kinds.audio.signal import Audio

FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".oga": "OGG", ".mp3": "MP3"}
LOSSY = {"OGG": "VORBIS", "MP3": "MPEG_LAYER_III"}
BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
# Beyond this, neighbours on [-1, 1] are fewer than eight float32 steps apart: 95 seconds at 44.1 kHz.
LONGEST = 2**22
# Frames handed to an encoder at once: the Vorbis encoder overflows its stack on minutes of samples in one call.
BLOCK = 1 << 16
MOST_CHANNELS = 64
# libsndfile's number of frames where a header does not say it.
UNKNOWN = 2**62
# How many bytes of float32 a byte of a file can become: silence takes almost nothing.
RATIO = {"FLAC": 1 << 16, "OGG": 1 << 17}
MPEG = ("MP3", "MPEG")
# Samples at both ends of an MP3 that belong to its coding.
MISSABLE = 8192
SMALLEST_RATIO = 64


def read_audio(path: Path, limit: int) -> Audio:
    """Reads any file that libsndfile decodes, of at most `limit` samples over all channels.

    What its header announces is checked before anything is decoded, and against what was decoded.
    """
    soundfile = need("audio", "soundfile")

    from staf.kinds.audio.signal import Audio

    class Forward(soundfile.SoundFile):  # type: ignore[misc]
        """A file that is read from its start to its end: seeking fails where the length is not known."""

        def seekable(self) -> bool:
            return False

    try:
        with path.open("rb") as plain:
            whole = check_whole(plain)
            stored = os.fstat(plain.fileno()).st_size
            # libsndfile would look for frames in what is before and behind them.
            source = os.fsencode(path) if whole.part is None else Part(plain, *whole.part, whole.first)
            with Forward(source) as file:
                announced = _announced(file, limit, stored)
                samples, full = _read_blocks(file, limit, announced)
                rate, subtype, format = file.samplerate, file.subtype, file.format
    except soundfile.LibsndfileError as error:
        reason = error.error_string.removeprefix("Error : ").rstrip(". ")
        raise damaged(f"its audio cannot be decoded ({reason})") from error
    if announced is not None and len(samples) < announced:
        raise damaged(f"{len(samples):,} of {announced:,} samples are there")
    if whole.samples is not None and len(samples) < whole.samples - MISSABLE:
        raise SignalError(
            f"{len(samples):,} of some {whole.samples:,} samples can be decoded, since its header does not say "
            "how many there are: convert it to FLAC or WAV"
        )
    notes = list(whole.notes)
    if announced is None and format not in MPEG:
        notes.append(NOT_SAID)
    if full > 1:
        notes.append(f"{full} samples are at full scale: the recording may be clipped, and is fitted as it is")
    if len(samples) > LONGEST:
        notes.append(
            f"{len(samples)} samples lie closer on one axis than float32 tells apart well: staf fit-windows "
            "(staf.fit_windows) fits them in windows"
        )
    return Audio(samples, rate, subtype=subtype, notes=notes)


def _announced(file: soundfile.SoundFile, limit: int, stored: int) -> int | None:
    """How many samples per channel a file of `stored` bytes announces, if it does, and they are not too many."""
    if file.channels > MOST_CHANNELS:
        raise SignalError(f"audio must have 1 to {MOST_CHANNELS} channels, got {file.channels}")
    # Of an MP3, libsndfile only estimates it.
    if file.frames >= UNKNOWN or file.format in MPEG:
        return None
    _check_length(file.frames, file.channels, limit)
    what = f"{file.frames} samples in {file.channels} channels"
    decoded = 4 * file.frames * file.channels
    check_ratio(decoded, stored, RATIO.get(file.format, SMALLEST_RATIO), what)
    if file.format == "FLAC":
        # A frame that is missing is searched for up to the end of the file.
        check_not_padded(stored, decoded)
    return file.frames


class Part:
    """`first`, and then the bytes of an open file from `start` to `stop`, as a file that libsndfile can read."""

    def __init__(self, file: BinaryIO, start: int, stop: int, first: bytes = b"") -> None:
        self._file, self._first, self._start, self._at = file, first, start - len(first), 0
        self._length = len(first) + stop - start

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._length - self._at)
        count = left if count < 0 else min(count, left)
        data = self._first[self._at : self._at + count]
        if len(data) < count:
            self._file.seek(self._start + self._at + len(data))
            data += self._file.read(count - len(data))
        self._at += len(data)
        return data


def _check_length(frames: int, channels: int, limit: int) -> None:
    if frames * channels > limit:
        across = f" in {channels} channels" if channels > 1 else ""
        raise SignalError(
            f"it holds {frames} samples{across}, and at most {limit} are read; if you trust the file, pass a larger "
            "max_pixels (staf fit: --max-pixels)"
        )


def _read_blocks(file: soundfile.SoundFile, limit: int, frames: int | None) -> tuple[np.ndarray, int]:
    """The samples (n, channels) up to the end of the file, and how many are at full scale."""
    whole = None if frames is None else np.empty((frames, file.channels), np.float32)
    parts: list[np.ndarray] = []
    count = full = 0
    while frames is None or count < frames:
        ask = BLOCK if frames is None else min(BLOCK, frames - count)
        block = file.read(ask, dtype="float32", always_2d=True)
        if not len(block):
            break
        full += int((np.abs(block) >= 1 - 1 / 32768).sum())
        if whole is None:
            _check_length(count + len(block), file.channels, limit)
            parts.append(block)
        else:
            whole[count : count + len(block)] = block
        count += len(block)
    if whole is not None:
        return whole[:count], full
    return np.concatenate([np.empty((0, file.channels), np.float32), *parts]), full


def write_audio(audio: Audio, path: str | os.PathLike[str]) -> Path:
    """Writes `audio` to `path` in the format of its suffix; `Audio.save` says what is kept."""
    soundfile = need("audio", "soundfile")

    format, subtype = stored_as(audio, path)
    with (
        atomic_path(path) as temporary,
        _explained(format, audio.out_features, audio.rate),
        soundfile.SoundFile(
            os.fsencode(temporary), "x", audio.rate, audio.out_features, subtype=subtype, format=format
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
