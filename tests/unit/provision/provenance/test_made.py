"""What programs are made of: each way of making one tells by files of its own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import Program
from longlook.core.registry import stack
from longlook.provision import pins
from longlook.provision.provenance.made import needed_by, of_longlook, of_part, of_wheels

ROOT = Path(__file__).parents[4]


def test_program_of_crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    entry = tmp_path / "stacks" / "quinn" / "0.11.12" / "key"
    entry.mkdir(parents=True)
    (entry / "program.json").write_text(json.dumps({"toolchain": "rustc 1.95.0"}))
    made = of_part(stack("quinn"), "0.11.12", Program(str(entry / "program"), "1" * 64))
    assert (made.name, made.sha256, made.built_by, made.deviations) == ("quinn@0.11.12", "1" * 64, "rustc 1.95.0", ())
    assert {"quinn", "quinn-proto", "rustls"} <= {each.name for each in made.components or ()}


def test_program_of_debian_says_what_is_not_as_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    (tmp_path / "adapter").mkdir()
    pinned = {"name": "libssl3", "version": "3.0.20", "architecture": "amd64", "sha256": "a" * 64}
    taken = {**pinned, "version": "3.0.21", "sha256": "b" * 64, "instead_of": pinned}
    other = {"name": "nginx", "version": "1.22.1-9", "architecture": "amd64", "sha256": "c" * 64}
    (tmp_path / pins.RECORD).write_text(json.dumps([taken, other]))
    made = of_part(stack("nginx"), "1.22.1", Program(str(tmp_path / "adapter" / "nginx_main.py"), "1" * 64))
    assert made.deviations == ("nginx@1.22.1 has libssl3 3.0.21 instead of the pinned libssl3 3.0.20",)
    assert [each.vouched_by for each in made.components or ()] == snapshot


def test_stack_of_somebody_elses_adapter_tells_nothing(tmp_path: Path) -> None:
    own = replace(stack("quinn"), name="mine")
    assert of_part(own, "0.11.12", Program(str(tmp_path / "program"), "1" * 64)).components is None


def test_every_program_of_the_wheel_is_listed_with_the_crates_that_it_is_made_of() -> None:
    *own, longlook = of_wheels()
    built = {each.stem for each in (ROOT / "crates" / "programs" / "src" / "bin").glob("*.rs")}
    assert {made.name for made in own} == built
    crates = {made.name: {each.name for each in made.components or ()} for made in own}
    assert {"serde", "libc"} <= crates["longlook-link"]
    assert "libc" in crates["longlook-box"]
    assert {"clap", "parquet"} <= crates["longlook-trace"]
    assert "parquet" not in crates["longlook-link"] | crates["longlook-box"]
    assert all(made.sha256 for made in own)
    assert longlook.name == "longlook"


def test_a_program_of_the_wheel_that_has_no_part_is_left_out() -> None:
    assert [made.name for made in of_wheels(["longlook-box", "longlook-trace"])] == ["longlook-link", "longlook"]


def test_longlook_runs_on_what_its_lock_file_pins() -> None:
    found = {each.name: each for each in of_longlook().components or ()}
    assert {"numpy", "pyarrow", "typer"} <= found.keys()
    assert "pytest" not in found
    assert len(found["numpy"].digests) > 1
    assert "typer" in needed_by("longlook")
