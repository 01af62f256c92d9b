import base64
import hashlib
import os
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "packaging"))


RECORD = "thing-1.0.dist-info/RECORD"


def written(wheel: Path) -> Path:
    from archive import write_wheel

    write_wheel(wheel, {"thing/__init__.py": b"", "thing/program": b"#!/bin/sh\n"}, RECORD, {"thing/program"})
    return wheel


def test_added_files_are_in_the_record_and_programs_stay_programs(tmp_path: Path) -> None:
    from archive import add_files

    wheel = written(tmp_path / "thing.whl")
    add_files(wheel, {"thing/share/text, with a comma": b"text"})
    with zipfile.ZipFile(wheel) as archive:
        modes = {each.filename: each.external_attr >> 16 for each in archive.infolist()}
        record = archive.read(RECORD).decode().splitlines()
    assert modes["thing/program"] == 0o100755
    assert modes["thing/share/text, with a comma"] == 0o100644
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"text").digest()).rstrip(b"=").decode()
    assert f'"thing/share/text, with a comma",sha256={digest},4' in record
    assert f"{RECORD},," in record
    assert len(record) == len(modes)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = written(tmp_path / "a.whl").read_bytes()
    os.utime(tmp_path / "a.whl", (0, 0))
    assert written(tmp_path / "b.whl").read_bytes() == first
