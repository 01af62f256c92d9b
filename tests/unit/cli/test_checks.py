"""`longlook doctor`: what a machine reads of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core import MachineError
from longlook.engines.doctor import examine
from longlook.provision.provenance.made import all_made
from longlook.stacks import chromium_remote


def test_every_need_that_is_not_met_has_a_fix() -> None:
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    needs = json.loads(answer.stdout)
    assert needs
    assert all(need.keys() == {"name", "met", "detail", "fix", "required"} for need in needs)
    assert all(need["fix"] for need in needs if not need["met"])
    assert answer.exit_code == (3 if any(need["required"] and not need["met"] for need in needs) else 0)


def test_a_phone_that_answered_once_and_is_away_now_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium_remote, "_file", lambda version: tmp_path / version)
    names = {f"stack {chromium_remote.STACK.name}": "phone was never asked"}
    assert names.items() <= {need.name: need.detail for need in examine()}.items()
    (tmp_path / "phone").write_text("{}")
    (asked,) = (need for need in examine() if need.name in names)
    assert (asked.met, asked.detail) == (True, "phone answered when it was last asked")
    assert all(made.name != chromium_remote.STACK.name for made in all_made())


def test_a_machine_without_privilege_runs_in_virtual_time_and_real_time_names_what_it_lacks() -> None:
    program = "from longlook.cli import app; app(['doctor', '--json'])"
    powerless = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # root in name only, which may make no namespace
    done = subprocess.run([*powerless, sys.executable, "-c", program], capture_output=True, text=True, check=False)
    needs = {need["name"]: need for need in json.loads(done.stdout)}
    assert not needs["namespaces"]["met"]
    assert needs["real time"]["detail"] == "not without namespaces"
    works = needs.get("virtual time", {"met": False})["met"]
    assert (needs["namespaces"]["required"], needs["real time"]["required"]) == (not works, not works)


def test_a_full_cache_is_one_unmet_need_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of longlook-prebuilt is copied into the cache when it is asked for."""

    def full(_stack: object) -> str:
        raise MachineError("the disk of the cache is full (/cache)", "free some, or move it: LONGLOOK_CACHE")

    monkeypatch.setattr("longlook.engines.doctor._others", full)
    found = {need.name: need for need in examine()}
    stacks = [need for name, need in found.items() if name.startswith("stack ") and need.detail.endswith("(/cache)")]
    assert stacks
    assert {(need.met, need.fix, need.required) for need in stacks} == {
        (False, "free some, or move it: LONGLOOK_CACHE", False)
    }
    assert "free space for the cache" in found
