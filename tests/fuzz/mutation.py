"""Damage to bytes: what storage, transfer and malice do to files, chosen at random."""

from __future__ import annotations

import random
import re
import struct
import zlib
from collections.abc import Callable, Sequence

NUMBERS = (0, 1, 2, 3, 4, 7, 8, 16, 127, 128, 255, 256, 1000, 4096, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31,
           2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 10**12)  # fmt: skip
WORDS = (b"-1", b"0", b"1", b"1e308", b"-1e999", b"nan", b"Infinity", b"999999999999", b"99999999999999999999999999",
         b"0.5", b"true", b"null", b"[]", b"{}", b'""', b"[[[[", b"\xff\xfe", b"\0", b"\n", b"../../x")  # fmt: skip
DIGITS = re.compile(rb"-?\d+(?:\.\d+)?")
LARGEST = 1 << 16

Change = Callable[[random.Random, bytearray, Sequence[bytes]], None]


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds with one to eight changes, mostly few."""
    data = bytearray(chance.choice(seeds))
    for _ in range(min(8, 1 + int(chance.expovariate(0.7)))):
        if not data:
            data = bytearray(b"\0")
        chance.choice(CHANGES)(chance, data, seeds)
    return bytes(data[:LARGEST])


def _place(chance: random.Random, data: bytearray) -> int:
    """Anywhere, but more often near the start, where headers are."""
    if chance.random() < 0.5:
        return chance.randrange(min(len(data), 200))
    return chance.randrange(len(data))


def _flip(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    data[_place(chance, data)] ^= 1 << chance.randrange(8)


def _set(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    data[_place(chance, data)] = chance.choice((0, 1, 127, 128, 254, 255, chance.randrange(256)))


def _number(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    """A number of 2, 4 or 8 bytes becomes one that counts and sizes are often wrong by."""
    width = chance.choice((2, 4, 4, 8))
    at = _place(chance, data)
    value = chance.choice((*NUMBERS, len(data), len(data) + 1, chance.getrandbits(8 * width)))
    data[at : at + width] = (value % 256**width).to_bytes(width, chance.choice(("little", "big")))


def _nudge(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at, width = _place(chance, data), chance.choice((1, 2, 4))
    order = chance.choice(("little", "big"))
    value = int.from_bytes(data[at : at + width], order) + chance.choice((-2, -1, 1, 2, 16, -16))
    data[at : at + width] = (value % 256**width).to_bytes(width, order)


def _float(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at, kind = _place(chance, data), chance.choice(("<f", ">f", "<d", ">d"))
    value = chance.choice((0.0, -0.0, 1e30, -1e30, 1e-40, float("nan"), float("inf"), 0.5))
    packed = struct.pack(kind, value)
    data[at : at + len(packed)] = packed


def _cut(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    del data[chance.randrange(len(data)) :]


def _delete(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = _place(chance, data)
    del data[at : at + 1 + int(chance.expovariate(1 / 8))]


def _insert(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = _place(chance, data)
    data[at:at] = chance.choice((chance.randbytes(1 + chance.randrange(8)), chance.choice(WORDS)))


def _repeat(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = _place(chance, data)
    part = bytes(data[at : at + 1 + int(chance.expovariate(1 / 24))])
    data[at:at] = part * chance.choice((1, 2, 8, 100))


def _clear(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at, length = _place(chance, data), 1 + int(chance.expovariate(1 / 16))
    data[at : at + length] = bytes([chance.choice((0, 255))]) * len(data[at : at + length])


def _splice(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = chance.choice(seeds)
    if other:
        start = chance.randrange(len(other))
        at = chance.randrange(len(data))
        data[at : at + (0 if chance.random() < 0.5 else len(other) - start)] = other[start : start + LARGEST]


def _word(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    """A number written in digits becomes another one."""
    found = list(DIGITS.finditer(data[: 1 << 13]))
    if found:
        match = chance.choice(found)
        data[match.start() : match.end()] = chance.choice((*WORDS[:9], str(chance.choice(NUMBERS)).encode()))


CHANGES: tuple[Change, ...] = (_flip, _flip, _set, _number, _number, _nudge, _float, _cut, _delete, _insert, _repeat,
                               _clear, _splice, _word, _word)  # fmt: skip


def with_png_sums(data: bytes) -> bytes:
    """A PNG with the checksums that its chunks should have, so that damage is met behind them too."""
    out, at = bytearray(data[:8]), 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + length > len(data):
            break
        out += data[at : at + 8 + length] + zlib.crc32(data[at + 4 : at + 8 + length]).to_bytes(4, "big")
        at += 12 + length
    return bytes(out + data[at:])


def with_ogg_sums(data: bytes) -> bytes:
    """An Ogg file whose pages have the checksums they should have."""
    out, at = bytearray(data), 0
    while at + 27 <= len(data) and data[at : at + 4] == b"OggS":
        lengths = data[at + 27 : at + 27 + data[at + 26]]
        end = at + 27 + len(lengths) + sum(lengths)
        if end > len(data):
            break
        out[at + 22 : at + 26] = bytes(4)
        out[at + 22 : at + 26] = _ogg_sum(out[at:end]).to_bytes(4, "little")
        at = end
    return bytes(out)


def _ogg_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
        table.append(value)
    return table


_TABLE = _ogg_table()


def _ogg_sum(page: bytes | bytearray) -> int:
    value = 0
    for byte in page:
        value = (value << 8 ^ _TABLE[value >> 24 ^ byte]) & 0xFFFFFFFF
    return value


def with_header_length(data: bytes) -> bytes:
    """A safetensors file whose first number is where its header ends."""
    end = data.rfind(b"}}", 8, 1 << 15) + 2
    return (end - 8).to_bytes(8, "little") + data[8:] if end > 9 else data
