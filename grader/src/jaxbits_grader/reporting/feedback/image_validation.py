"""Check that an image is a complete PNG or JPEG file of a reasonable size."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib

MAX_BYTES, MAX_PIXELS = 2_000_000, 40_000_000


def is_image_uri(uri: str) -> bool:
    """Return whether a data URI contains a complete PNG or JPEG file that is not too large."""
    if len(uri) > MAX_BYTES * 4 // 3 + 40:
        return False
    match = re.fullmatch(r"data:image/(png|jpeg);base64,([A-Za-z0-9+/]+={0,2})", uri)
    if match is None:
        return False
    try:
        data = base64.b64decode(match[2], validate=True)
        width, height = (_png_size if match[1] == "png" else _jpeg_size)(data)
    except (binascii.Error, struct.error, ValueError):
        return False
    return len(data) <= MAX_BYTES and 0 < width * height <= MAX_PIXELS


def _png_size(data: bytes) -> tuple[int, int]:
    """Check all chunks of a PNG file, and return its width and height.

    See https://www.w3.org/TR/png-3/#5Chunk-layout.
    """
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise ValueError("not a PNG file")
    at, kinds = 8, set()
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(data[at + 4 : at + 8 + length]) != checksum:
            raise ValueError("a damaged PNG file")
        at += 12 + length
        kinds.add(kind)
        if kind == b"IEND":
            break
    if not {b"IDAT", b"IEND"} <= kinds or at != len(data):
        raise ValueError("an incomplete PNG file")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return the width and height of a JPEG file from the segments before the image data.

    See https://www.w3.org/Graphics/JPEG/itu-t81.pdf, annex B.
    """
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        raise ValueError("not a JPEG file")
    at, size = 2, (0, 0)
    while True:
        marker, kind, length = struct.unpack_from(">BBH", data, at)
        if marker != 0xFF or length < 2:
            raise ValueError("a damaged JPEG file")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # This segment starts a frame.
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = width, height
        if kind == 0xDA:  # This segment starts the image data.
            return size
        at += 2 + length
