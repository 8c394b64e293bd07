"""The little of protobuf's wire format that rewriting a Substrait message needs."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}

Field = tuple[int, int, int | bytes]
"""The number of a field, how it is written, and its value: a number where it is written as one, bytes otherwise."""


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in their order."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"field {number} has the wire type {kind}, which is none of protobuf's")
        yield number, kind, message[at : at + size]
        at += size


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes, kind: int | None = None) -> bytes:
    """One field, written as ``kind`` says; absent: a number as a varint, bytes with their length."""
    if isinstance(value, int):
        return _number(number << 3 | VARINT) + _number(value)
    kind = BYTES if kind is None else kind
    length = _number(len(value)) if kind == BYTES else b""
    return _number(number << 3 | kind) + length + value


def messages(message: bytes, number: int) -> list[bytes]:
    """The values of all fields of this number that are bytes."""
    return [value for n, _, value in fields(message) if n == number and isinstance(value, bytes)]


def number(message: bytes, wanted: int) -> int:
    """The value of a field that is a number; 0, as protobuf has it, if it is not there."""
    return next((value for n, _, value in reversed(list(fields(message))) if n == wanted and isinstance(value, int)), 0)
