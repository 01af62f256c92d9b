"""The calibration itself: the link in a guest, against theory and netem, for real."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core import calibration as certificate
from longlook.core.programs import link_program
from longlook.instruments.calibrate.link import virtual
from longlook.instruments.calibrate.link.catalogue import CASES
from longlook.provision.guest_kernel import kernel_program

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]


def run(out: Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["calibrate", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_link_keeps_its_laws_and_a_repeat_gives_the_same_bytes(tmp_path: Path) -> None:
    first, again = run(tmp_path / "first"), run(tmp_path / "again")
    assert first["passed"]
    assert [row for row in first["rows"] if not row["passed"]] == []
    assert [row for row in first["rows"] if row["netem_passed"] is False] == []
    assert {row["case"] for row in first["rows"]} == {case.name for case in CASES}
    raw = (tmp_path / "first" / virtual.RAW).read_bytes()
    assert raw == (tmp_path / "again" / virtual.RAW).read_bytes()
    assert (first["key"], first["packets"]) == (again["key"], again["packets"])
    assert json.loads((tmp_path / "first" / certificate.TABLE).read_text()) == first
    found = certificate.certificate_entry(link_program().digest, kernel_program(lambda _text: None).digest)
    assert found == {"key": first["key"], "passed": True, "path": f"calibration/{first['key']}/{certificate.TABLE}"}
