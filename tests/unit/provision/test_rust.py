"""Rust programs: the same sources give the same bytes, and a change compiles only what it concerns."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from longlook.core import digests, registry
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Identity, Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import ServerJob, Version
from longlook.provision import cargo
from longlook.provision.rust import cargo_build, cargo_stack, is_cargo_built

MANIFEST = """\
[package]
name = "longlook-thing"
version = "1.0.0"
edition = "2021"

[[bin]]
name = "adapter"
path = "../../src/main.rs"

[dependencies]
longlook-adapter = { path = "../../../lib/rust" }

[profile.release]
codegen-units = 1
panic = "abort"
strip = true

[workspace]
"""
SHARED_MANIFEST = '[package]\nname = "longlook-adapter"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n'
MAIN = 'fn main() { println!("{} {}", longlook_adapter::hello(), std::any::type_name::<longlook_adapter::Kind>()); }\n'
SHARED = 'pub struct Kind;\n#[inline(never)]\npub fn hello() -> &\'static str { panic_or("hello") }\n'
SHARED += "fn panic_or(text: &'static str) -> &'static str { assert!(std::env::args().count() < 99, \"no\"); text }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program without other dependencies than the shared crate, so that no registry is needed."""
    if shutil.which("cargo") is None:
        pytest.skip("no Rust here")
    root = tmp_path / "adapters"
    version = root / "thing" / "versions" / "1.0.0"
    files = {
        root / "thing" / "src" / "main.rs": MAIN,
        version / "Cargo.toml": MANIFEST,
        root / "lib" / "rust" / "Cargo.toml": SHARED_MANIFEST,
        root / "lib" / "rust" / "src" / "lib.rs": SHARED,
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(("cargo", "generate-lockfile", "--offline"), cwd=version, check=True, capture_output=True)
    monkeypatch.setenv("LONGLOOK_ADAPTERS", str(root))
    return root


def built() -> Program:
    return cargo_build("thing", "1.0.0", needs_cmake=False)


def output(program: Program) -> str:
    return subprocess.run((program.path,), check=True, capture_output=True, text=True).stdout


def dependencies(cache: Path) -> Path:
    return cache / "cargo" / "thing-1.0.0"


def test_the_same_sources_give_the_same_bytes_in_any_folder_and_after_any_build(
    adapters: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_cargo_built("thing", "1.0.0")
    first = built()
    assert is_cargo_built("thing", "1.0.0")
    assert output(first).startswith("hello ")
    main = adapters / "thing" / "src" / "main.rs"
    main.write_text(MAIN.replace("println", "eprintln"))
    os.utime(main, (0, 0))  # older than the last build, as after a switch to another worktree
    changed = built()
    assert (changed.digest != first.digest, output(changed)) == (True, "")
    main.write_text(MAIN)
    shutil.rmtree(cache / "stacks")
    assert built().digest == first.digest
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "somewhere" / "else"))
    assert built().digest == first.digest


@pytest.mark.parametrize("end", ["change", "failure", "killed", "lock"])
def test_dependencies_are_kept_unless_they_may_be_stale_or_torn(adapters: Path, cache: Path, end: str) -> None:
    built()
    mark = dependencies(cache) / "target" / "mark"
    mark.touch()
    main = adapters / "thing" / "src" / "main.rs"
    main.write_text(MAIN + "// more\n")
    match end:
        case "failure":
            main.write_text("this is no Rust")
            with pytest.raises(MachineError, match="exit code 101"):
                built()
            main.write_text(MAIN + "// more\n")
        case "killed":
            (dependencies(cache) / "dependencies").unlink()  # as while cargo runs
        case "lock":
            lock = adapters / "thing" / "versions" / "1.0.0" / "Cargo.lock"
            lock.write_text(lock.read_text() + "# another\n")
    built()
    assert mark.exists() == (end in ("change", "failure"))


@pytest.mark.parametrize("name", ["CFLAGS", "CC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO"])
def test_variables_that_would_change_a_program_do_not_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = cargo.environment(Path("/here"))
    monkeypatch.setenv(name, "--surprise")
    assert cargo.environment(Path("/here")) == expected


def test_variables_that_say_where_things_are_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "CARGO_HTTP_CAINFO", "https_proxy"):
        monkeypatch.setenv(name, "/somewhere")
        assert cargo.environment(Path("/here"))[name] == "/somewhere"


@pytest.mark.parametrize("boringssl", [False, True])
def test_a_declaration_is_a_whole_stack(boringssl: bool) -> None:
    stack = cargo_stack("thing", "a thing", (Version("1.0.0", ""),), {}, boringssl=boringssl)
    identity = Identity("www.example.test", "ca", "cert", "key", "")
    job = ServerJob("h3", "127.0.0.1", 443, "www", identity, {})
    assert stack.server_command is not None
    assert stack.client_command is not None
    server = stack.server_command(Program("/program", ""), job)
    client = stack.client_command(Program("/program", ""), "job.json")
    assert server.argv[:2] == ("/program", "server")
    assert client.argv == ("/program", "client", "job.json")
    assert ("OPENSSL_ia32cap" in server.env, "OPENSSL_ia32cap" in client.env) == (boringssl, boringssl)
    assert stack.connections == tuple(ConnectionState)
    with pytest.raises(InputError, match="no version"):
        stack.install("2.0.0")


def test_missing_tools_are_named(adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longlook.provision.rust.shutil.which", lambda _tool: None)
    with pytest.raises(MachineError, match="cmake is not installed, which thing"):
        cargo_build("thing", "1.0.0", needs_cmake=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not is_cargo_built("thing", "1.0.0")
    with pytest.raises(MachineError, match="rustc is not installed"):
        built()


@pytest.mark.parametrize("file", ["provision/rust.py", "provision/cargo.py", "core/knobs.py", "core/stack.py"])
@pytest.mark.parametrize("name", ["quiche", "tquic", "quinn", "s2n-quic", "noq"])
def test_a_change_of_shared_code_changes_the_key_of_a_stacks_trials(package: Path, name: str, file: str) -> None:
    source = registry.source("stacks", name)
    before = digests.source_digest(source)
    (package / file).write_text((package / file).read_text() + "\n# another line\n")
    digests.forget()
    assert digests.source_digest(source) != before


def test_every_version_has_its_manifest_and_lock() -> None:
    for name in ("quiche", "tquic", "quinn", "s2n-quic", "noq"):
        versions = {path.name for path in (adapters_dir() / name / "versions").iterdir()}
        assert versions == set(registry.get("stacks", name).version_names)
        for version in versions:
            manifest = (adapters_dir() / name / "versions" / version / "Cargo.toml").read_text()
            assert f'version = "{version}"' in manifest
            assert f'{name} = {{ version = "={version}"' in manifest or f'{name} = "={version}"' in manifest
