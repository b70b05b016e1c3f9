"""Which images may stand on a page: whole files of two kinds, of a size that can be shown."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib

BYTES, PIXELS = 2_000_000, 40_000_000


def is_image_uri(uri: str) -> bool:
    """Whether an address holds a PNG or JPEG file, whole and of a size that can be shown."""
    if len(uri) > BYTES * 4 // 3 + 40:
        return False
    match = re.fullmatch(r"data:image/(png|jpeg);base64,([A-Za-z0-9+/]+={0,2})", uri)
    if match is None:
        return False
    try:
        data = base64.b64decode(match[2], validate=True)
        width, height = (_png if match[1] == "png" else _jpeg)(data)
    except (binascii.Error, struct.error, ValueError):
        return False
    return len(data) <= BYTES and 0 < width * height <= PIXELS


def _png(data: bytes) -> tuple[int, int]:
    """Width and height of a PNG file, of which every chunk is looked at."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    at, kinds = 8, set()
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        (check,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(data[at + 4 : at + 8 + length]) != check:
            raise ValueError("a damaged PNG")
        at += 12 + length
        kinds.add(kind)
        if kind == b"IEND":
            break
    if not {b"IDAT", b"IEND"} <= kinds or at != len(data):
        raise ValueError("half a PNG")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    """Width and height of a JPEG file, by its segments up to the picture itself."""
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        raise ValueError("no JPEG")
    at, size = 2, (0, 0)
    while True:
        mark, kind, length = struct.unpack_from(">BBH", data, at)
        if mark != 0xFF or length < 2:
            raise ValueError("a damaged JPEG")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = width, height
        if kind == 0xDA:
            return size
        at += 2 + length
