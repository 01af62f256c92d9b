"""Wheels as archives: the same files give the same bytes, whenever and wherever they are packed."""

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, bytes]
"""The contents of files by their paths in an archive."""

_DATE = (1980, 1, 1, 0, 0, 0)
_FILE, _PROGRAM = 0o100644, 0o100755


def add_files(wheel: Path, files: Files) -> None:
    """Put further files into a wheel, and into its record."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {each.filename: archive.read(each) for each in archive.infolist() if not each.is_dir()}
        programs = {each.filename for each in archive.infolist() if each.external_attr >> 16 & 0o100}
    record = next(name for name in packed if name.endswith(".dist-info/RECORD"))
    del packed[record]
    write_wheel(wheel, {**packed, **files}, record, programs)


def write_wheel(wheel: Path, files: Files, record: str, programs: set[str]) -> None:
    """Write a wheel with the files, and with their digests as the file `record`; `programs` can be executed."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for name, contents in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(contents)))
    writer.writerow((record, "", ""))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, contents in (*sorted(files.items()), (record, rows.getvalue().encode())):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (_PROGRAM if name in programs else _FILE) << 16
            archive.writestr(entry, contents)
