"""What programs are made of: each way of making one tells by files of its own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.core.provenance import Component
from longlook.core.registry import stack
from longlook.provision import pins
from longlook.provision.provenance.made import (
    checksums,
    crates,
    locked,
    modules,
    needed_by,
    of_longlook,
    of_part,
    of_wheels,
    requirements,
)

ROOT = Path(__file__).parents[4]


def test_program_of_crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    entry = tmp_path / "stacks" / "quinn" / "0.11.12" / "key"
    entry.mkdir(parents=True)
    (entry / "program.json").write_text(json.dumps({"toolchain": "rustc 1.95.0"}))
    made = of_part(stack("quinn"), "0.11.12", Program(str(entry / "program"), "1" * 64))
    assert (made.name, made.sha256, made.built_by, made.deviations) == ("quinn@0.11.12", "1" * 64, "rustc 1.95.0", ())
    assert {"quinn", "quinn-proto", "rustls"} <= {each.name for each in made.components or ()}


def test_program_of_crates_from_sources_that_are_no_release_has_its_own_lock_file(tmp_path: Path) -> None:
    source = "registry+https://github.com/rust-lang/crates.io-index"
    (tmp_path / "Cargo.lock").write_text(
        '[[package]]\nname = "quinn-proto"\nversion = "0.11.18"\n'
        f'[[package]]\nname = "rand"\nversion = "0.10.2"\nsource = "{source}"\nchecksum = "{"a" * 64}"\n'
    )
    made = of_part(stack("quinn"), "main-4f2a91c", Program(str(tmp_path / "program"), "1" * 64))
    by = "the lock file beside a program that was built from sources"
    assert made.components == (Component("cargo", "rand", "0.10.2", (f"sha256:{'a' * 64}",), by),)


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


CARGO = f"""version = 4

[[package]]
name = "ours"
version = "0.0.1"
dependencies = ["used", "twice 2.0.0"]

[[package]]
name = "used"
version = "1.0.0"
source = "registry+https://index.invalid"
checksum = "{"a" * 64}"
dependencies = ["ours"]

[[package]]
name = "twice"
version = "1.0.0"
source = "registry+https://index.invalid"
checksum = "{"b" * 64}"

[[package]]
name = "twice"
version = "2.0.0"
source = "registry+https://index.invalid"
checksum = "{"c" * 64}"
"""

PIP = f"""\
numpy==2.4.6 ; python_version < '3.12' \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
    # via something==1.0
numpy==2.5.0 ; python_version >= '3.12' \\
    --hash=sha256:{"c" * 64}
typing_extensions==4.16.0 \\
    --hash=sha256:{"d" * 64}
"""

PRINTED = """\
/program: go1.26.8
\tpath\tlonglook.example/adapter
\tmod\tlonglook.example/adapter\t(devel)\t
\tdep\tgolang.org/x/net\tv0.56.0\th1:net=
\tdep\tgithub.com/quic-go/quic-go\tv0.65.0
\t=>\t./library\t(devel)\t
\tbuild\t-trimpath=true
"""


def test_crates_of_a_lock_file(tmp_path: Path) -> None:
    (tmp_path / "Cargo.lock").write_text(CARGO)
    everything = [(each.name, each.version) for each in crates(tmp_path / "Cargo.lock")]
    assert everything == [("used", "1.0.0"), ("twice", "1.0.0"), ("twice", "2.0.0")]
    needed = crates(tmp_path / "Cargo.lock", ["ours"])
    assert [(each.name, each.version) for each in needed] == [("twice", "2.0.0"), ("used", "1.0.0")]
    assert needed[0].digests == (f"sha256:{'c' * 64}",)


def test_packages_of_a_requirements_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "one.txt").write_text(PIP)
    found = requirements(tmp_path / "one.txt")
    assert list(found) == [("numpy", "2.4.6"), ("numpy", "2.5.0"), ("typing-extensions", "4.16.0")]
    assert found["numpy", "2.4.6"].digests == (f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")
    assert locked("Typing_Extensions", "4.16.0", found).digests == (f"sha256:{'d' * 64}",)
    assert locked("typing-extensions", "4.17.0", found).vouched_by == snapshot


def test_modules_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "go.sum").write_text(
        "github.com/quic-go/quic-go v0.65.0 h1:quic=\ngithub.com/quic-go/quic-go v0.65.0/go.mod h1:mod=\n"
    )
    found = modules(PRINTED, checksums(tmp_path / "go.sum"), "go.sum")
    assert [(each.name, each.digests) for each in found] == [
        ("golang.org/x/net", ("h1:net=",)),
        ("github.com/quic-go/quic-go", ("h1:quic=",)),  # patched: the program names none
    ]


def test_every_lock_file_of_the_adapters_is_read() -> None:
    cargo = sorted(adapters_dir().glob("*/versions/*/Cargo.lock"))
    assert cargo
    for lock in cargo:
        assert len(crates(lock)) > 50
    python = sorted(adapters_dir().glob("*/locks/*.txt"))
    assert python
    for lock in python:
        found = requirements(lock)
        assert len(found) == sum("==" in line for line in lock.read_text().splitlines())  # none: Python itself
        assert all(each.digests for each in found.values())
        assert all("in the repository" in each.vouched_by for each in found.values())
