"""Find and read the notebooks in a zip file without extracting anything to the disk.

A zip file from a student may be damaged, or it may be made to fill the memory of the machine that
unpacks it. Therefore, this module limits the size of the file's directory before it reads the
directory, and it stops reading a notebook at the limit for notebooks.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path

from jaxbits_grader.running.limits import MEGABYTE

# A zip file lists its contents in a directory at its end, which takes at least 46 bytes per entry.
_MAX_DIRECTORY_BYTES = 1_000_000
_END_RECORD, _END_RECORD_BYTES, _MAX_COMMENT_BYTES = b"PK\x05\x06", 22, 65_535
_ZIP64_LOCATOR, _ZIP64_LOCATOR_BYTES = b"PK\x06\x07", 20
_IS_ENCRYPTED = 1
# With the other methods, zipfile does not limit how much it decompresses at once:
# https://github.com/python/cpython/blob/v3.13.0/Lib/zipfile/__init__.py#L1103
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # zipfile raises this and NotImplementedError if it cannot decode an entry.
)


class BadZip(ValueError):
    """Raised if a zip file or one of its entries cannot be read. The message says why."""


def list_files(path: Path) -> list[str]:
    """Return the names of the regular files in a zip file, including the folders they are in.

    Raises:
        BadZip: If the file is not a zip file, or if it has too many entries.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if _is_file(info)]
    except _ERRORS as error:
        raise BadZip(_reason(error)) from None


def read_file(path: Path, name: str, max_bytes: int) -> bytes:
    """Return the contents of a file in a zip file.

    Args:
        path: The zip file.
        name: The name of the file in it, as `list_files` returns it.
        max_bytes: The maximum number of bytes in the file.

    Raises:
        BadZip: If the file is too large, is encrypted, or cannot be decompressed.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(name)
            if info.flag_bits & _IS_ENCRYPTED:
                raise BadZip("it is encrypted")
            if info.compress_type not in _COMPRESSION:
                raise BadZip("its compression method is not supported")
            with archive.open(info) as file:
                # The size that the zip file states may be wrong, so limit what is decompressed.
                data = file.read(max_bytes + 1)
    except (*_ERRORS, KeyError) as error:
        raise BadZip(_reason(error)) from None
    if len(data) > max_bytes:
        raise BadZip(f"it is larger than {max_bytes // MEGABYTE} MB")
    return data


def _is_file(info: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(info.external_attr >> 16)
    return not info.is_dir() and kind in (0, stat.S_IFREG)


def _check_directory(path: Path) -> None:
    """Check that the zip file's directory is small enough to be read.

    Raises:
        BadZip: If the directory is too large, or if the file has none.
    """
    longest = _ZIP64_LOCATOR_BYTES + _END_RECORD_BYTES + _MAX_COMMENT_BYTES
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - longest))
        end = file.read(longest)
    # zipfile uses one of these two places, depending on the comment at the end of the file.
    starts = {len(end) - _END_RECORD_BYTES, end.rfind(_END_RECORD)}
    starts = {i for i in starts if i >= 0 and end[i:].startswith(_END_RECORD)}
    if not starts:
        raise BadZip("it is not a zip file")
    for start in starts:
        directory_bytes = int.from_bytes(end[start + 12 : start + 16], "little")
        locator = end[max(0, start - _ZIP64_LOCATOR_BYTES) : start]
        if directory_bytes > _MAX_DIRECTORY_BYTES or locator.startswith(_ZIP64_LOCATOR):
            raise BadZip("it contains too many files")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, BadZip) else f"it is damaged ({str(error)[:80]})"
