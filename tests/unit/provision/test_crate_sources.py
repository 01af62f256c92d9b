"""Sources in Rust stand in for crates of the registry: built, recorded, or refused with the reason. No network."""

import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.source_tree import SourceTree
from longlook.provision import cargo, confined
from longlook.provision.crate_sources import lock_changes, state_crate_version
from longlook.provision.progress import listening
from longlook.provision.rust import cargo_build, is_cargo_built
from longlook.provision.sources.snapshot import digest_of, read_folder

MANIFEST = """\
[package]
name = "longlook-thing"
version = "1.0.0" # the library's
edition = "2021"

[[bin]]
name = "adapter"
path = "../../src/main.rs"

[dependencies]
longlook-adapter = { path = "../../../lib/rust" }
outer = "=1.0.0"

[profile.release]
panic = "abort"
strip = "debuginfo"

[workspace]
"""
MAIN = 'fn main() { println!("{} {}", env!("CARGO_PKG_VERSION"), outer::text()); }\n'
OUTER = 'pub fn text() -> String { format!("outer {}", inner::text()) }\n'
INNER = 'pub fn text() -> &\'static str { "inner" }\n'
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
LIBRARIES = ("outer", "inner")
WORKSPACE = '[workspace]\nmembers = ["outer", "inner"]\nresolver = "2"\n'


def crate(name: str, version: str, more: str = "") -> str:
    return f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n{more}'


def archived(name: str, version: str, files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def publish(home: Path, name: str, version: str, files: Mapping[str, str]) -> None:
    """Put a crate into the registry of a cargo home: a folder that cargo takes crates from, and archives."""
    origin = {".cargo_vcs_info.json": json.dumps({"git": {"sha1": "0"}, "path_in_vcs": name})}
    archive = archived(name, version, {**files, **origin})
    for path, text in files.items():
        place = home / "vendor" / f"{name}-{version}" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    sums = {"files": {}, "package": hashlib.sha256(archive).hexdigest()}
    (home / "vendor" / f"{name}-{version}" / ".cargo-checksum.json").write_text(json.dumps(sums))
    place = home / "registry" / "cache" / "index.example-0123" / f"{name}-{version}.crate"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(archive)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cargo home whose registry has the two crates of a library, and three versions of another crate."""
    if shutil.which("cargo") is None:
        pytest.skip("no Rust here")
    home = tmp_path / "home"
    publish(home, "inner", "0.3.1", {"Cargo.toml": crate("inner", "0.3.1"), "src/lib.rs": INNER})
    needs = '[dependencies]\ninner = "0.3.0"\n'
    publish(home, "outer", "1.0.0", {"Cargo.toml": crate("outer", "1.0.0", needs), "src/lib.rs": OUTER})
    for version in ("1.0.0", "1.4.0", "2.0.0"):
        text = f'pub fn number() -> &\'static str {{ "{version}" }}\n'
        publish(home, "extra", version, {"Cargo.toml": crate("extra", version), "src/lib.rs": text})
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "{home / "vendor"}"\n'
    )
    monkeypatch.setenv("CARGO_HOME", str(home))
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return home


@pytest.fixture
def adapters(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An adapter that is built with the library."""
    root = tmp_path / "adapters"
    version = root / "thing" / "versions" / "1.0.0"
    files = {
        root / "thing" / "src" / "main.rs": MAIN,
        version / "Cargo.toml": MANIFEST,
        root / "lib" / "rust" / "Cargo.toml": crate("longlook-adapter", "0.1.0", "[workspace]\n"),
        root / "lib" / "rust" / "src" / "lib.rs": "",
    }
    write(files)
    subprocess.run(("cargo", "generate-lockfile", "--offline"), cwd=version, check=True, capture_output=True)
    monkeypatch.setenv("LONGLOOK_ADAPTERS", str(root))
    return root


def write(files: Mapping[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def workspace(**changes: str) -> dict[str, str]:
    """Return the files of the library's repository, with other contents of some paths."""
    return {
        "Cargo.toml": WORKSPACE,
        "outer/Cargo.toml": crate(
            "outer", "1.0.0", '[dependencies]\ninner = { path = "../inner", version = "0.3.0" }\n'
        ),
        "outer/src/lib.rs": OUTER,
        "inner/Cargo.toml": crate("inner", "0.3.1"),
        "inner/src/lib.rs": INNER,
        **changes,
    }


def tree(files: Mapping[str, str], version: str = "main-1234567") -> SourceTree:
    found = SourceTree("thing", version, "1.0.0", "./tree", "")
    write({found.folder / path: text for path, text in files.items()})
    return SourceTree("thing", version, "1.0.0", "./tree", digest_of(read_folder(found.folder)))


def built(sources: SourceTree | None = None) -> Program:
    return cargo_build("thing", "1.0.0", needs_cmake=False, tree=sources)


def output(program: Program) -> str:
    return subprocess.run((program.path,), check=True, capture_output=True, text=True).stdout.strip()


def beside(program: Program, name: str) -> Path:
    return Path(program.path).with_name(name)


def test_equal_sources_give_equal_bytes_whatever_was_built_before_and_wherever_they_come_from(
    adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = built()
    files = workspace()
    other = {**files, "inner/src/lib.rs": INNER.replace('"inner"', '"changed"')}
    one = tree(files)
    assert not is_cargo_built("thing", "1.0.0", one)
    first = built(one)
    assert is_cargo_built("thing", "1.0.0", one)
    assert (output(release), output(first)) == ("1.0.0 outer inner", "1.0.0+sources outer inner")
    assert output(built(tree(other, "other-1"))) == "1.0.0+sources outer changed"
    assert built(tree(files, "feature-7654321")).digest == first.digest
    shutil.rmtree(tmp_path / "cache" / "stacks")
    assert built().digest == release.digest
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "somewhere" / "else"))
    assert built(tree(files, "main-0000000")).digest == first.digest


def program_needs_extra(adapters: Path) -> None:
    version = adapters / "thing" / "versions" / "1.0.0"
    (version / "Cargo.toml").write_text(MANIFEST.replace("outer =", 'extra = "=1.0.0"\nouter ='))
    subprocess.run(("cargo", "generate-lockfile", "--offline"), cwd=version, check=True, capture_output=True)


def test_crates_of_the_registry_are_compiled_once_for_all_sources(adapters: Path, tmp_path: Path) -> None:
    program_needs_extra(adapters)
    built(tree(workspace(), "main-9"))
    compiled = tmp_path / "cache" / "cargo" / "thing-1.0.0" / "target" / "release" / "deps"
    before = {path: path.stat().st_mtime_ns for path in compiled.glob("libextra-*.rlib")}
    for number in range(2):
        text = INNER.replace('"inner"', f'"{number}"')
        assert output(built(tree(workspace(**{"inner/src/lib.rs": text}), f"main-{number}"))).endswith(
            f"outer {number}"
        )
    assert {path: path.stat().st_mtime_ns for path in compiled.glob("libextra-*.rlib")} == before
    assert len(before) == 1


def test_the_lock_is_kept_if_it_can_be_and_otherwise_the_change_is_said_and_recorded(adapters: Path) -> None:
    said: list[str] = []
    with listening(said.append):
        kept = built(tree(workspace()))
    assert "the lock is kept" in said
    assert not beside(kept, cargo.LOCK_CHANGES).exists()
    assert 'name = "inner"' in beside(kept, "Cargo.lock").read_text()
    needs = {
        "inner/Cargo.toml": crate("inner", "0.3.1", '[dependencies]\nextra = "1"\n'),
        "inner/src/lib.rs": "pub fn text() -> &'static str { extra::number() }\n",
    }
    with listening(said.append):
        newest = built(tree(workspace(**needs), "needs-1"))
    assert said[-3:] == ["the lock has changed: +extra 1.4.0", "cargo fetch --locked", "cargo build --release"]
    assert beside(newest, cargo.LOCK_CHANGES).read_text() == "+extra 1.4.0\n"
    assert output(newest) == "1.0.0+sources outer 1.4.0"
    lock = beside(newest, "Cargo.lock").read_text()
    digest = hashlib.sha256((Path(os.environ["CARGO_HOME"]) / ARCHIVES / "extra-1.0.0.crate").read_bytes()).hexdigest()
    other = hashlib.sha256((Path(os.environ["CARGO_HOME"]) / ARCHIVES / "extra-1.4.0.crate").read_bytes()).hexdigest()
    own = lock.replace("1.4.0", "1.0.0").replace(other, digest)
    assert output(built(tree(workspace(**needs, **{"Cargo.lock": own}), "needs-2"))) == "1.0.0+sources outer 1.0.0"


ARCHIVES = Path("registry", "cache", "index.example-0123")


def test_the_lock_has_what_sources_in_a_newer_version_are_taken_for(adapters: Path) -> None:
    newer = workspace(
        **{
            "inner/Cargo.toml": crate("inner", "0.3.9"),
            "outer/Cargo.toml": workspace()["outer/Cargo.toml"].replace("1.0.0", "1.2.0", 1),
        }
    )
    assert output(built(tree(newer))) == "1.0.0+sources outer inner"
    alone = {"Cargo.toml": crate("inner", "0.3.0"), "src/lib.rs": INNER.replace('"inner"', '"alone"')}
    assert output(built(tree(alone, "alone-1"))) == "1.0.0+sources outer alone"
    incompatible = {"Cargo.toml": crate("inner", "0.4.0"), "src/lib.rs": INNER}
    with pytest.raises(InputError, match=r"outer takes inner 0\.3\.1 of the registry, and not the sources'"):
        built(tree(incompatible, "alone-2"))


def test_sources_that_require_what_nobody_has_are_named(adapters: Path) -> None:
    needs = crate("inner", "0.3.1", '[dependencies]\nextra = "7"\n')
    with pytest.raises(MachineError, match=r'(?s)cannot be had together.*extra = "\^7"'):
        built(tree(workspace(**{"inner/Cargo.toml": needs})))


def test_patches_of_the_sources_are_the_program_s(adapters: Path) -> None:
    files = workspace(
        **{
            "Cargo.toml": f'{WORKSPACE}exclude = ["forks"]\n[patch.crates-io]\nextra = {{ path = "forks/extra" }}\n',
            "forks/extra/Cargo.toml": crate("extra", "1.9.0"),
            "forks/extra/src/lib.rs": 'pub fn number() -> &\'static str { "forked" }\n',
            "inner/Cargo.toml": crate("inner", "0.3.1", '[dependencies]\nextra = "1"\n'),
            "inner/src/lib.rs": "pub fn text() -> &'static str { extra::number() }\n",
        }
    )
    assert output(built(tree(files))) == "1.0.0+sources outer forked"


def test_a_build_script_finds_and_leaves_nothing_among_compiled_crates(adapters: Path) -> None:
    program_needs_extra(adapters)
    script = """fn main() {
        let compiled = std::path::PathBuf::from(std::env::var("CARGO_TARGET_DIR").unwrap()).join("release");
        let left = compiled.join("left");
        println!("cargo:rustc-env=FOUND={}", left.exists());
        std::fs::write(left, "").unwrap();
        for each in std::fs::read_dir(compiled.join("deps")).unwrap().map(|each| each.unwrap().path()) {
            if each.to_str().unwrap().contains("libextra") { std::fs::write(each, "bad").unwrap(); }
        }
    }
    """
    text = 'pub fn text() -> &\'static str { env!("FOUND") }\n'
    files = workspace(**{"inner/build.rs": script, "inner/src/lib.rs": text})
    for version in ("main-1", "main-2"):
        assert output(built(tree(files, version))) == "1.0.0+sources outer false"
    needs = crate("inner", "0.3.1", '[dependencies]\nextra = "1"\n')
    later = "pub fn text() -> &'static str { extra::number() }\n"
    files = workspace(**{"inner/Cargo.toml": needs, "inner/src/lib.rs": later})
    assert output(built(tree(files, "main-3"))) == "1.0.0+sources outer 1.0.0"


ESCAPES = {
    "writes": ('std::fs::write("{outside}", "bad").unwrap();', "Read-only file system"),
    "changes its sources": ('std::fs::write("src/lib.rs", "bad").unwrap();', "Read-only file system"),
    "changes the release's": ('std::fs::write("{release}/target/bad", "bad").unwrap();', "Read-only file system"),
    "connects": (
        'std::net::TcpStream::connect("127.0.0.1:{port}").unwrap();',
        "Connection refused|Network is unreachable",
    ),
    "reads a key": ('std::fs::read_to_string("{home}/.ssh/id").unwrap();', "No such file"),
    "never ends": ("loop {{ std::thread::sleep(std::time::Duration::from_secs(1)); }}", "was stopped: it took more"),
    "replaces its program": (
        'std::os::unix::fs::symlink("/etc/hostname", "../../release/adapter").unwrap_or(());\n'
        '    let target = std::env::var("CARGO_TARGET_DIR").unwrap();\n'
        '    std::fs::create_dir_all("{home}").ok();\n'
        '    std::os::unix::fs::symlink("/", format!("{{target}}/release/build/outer-0")).unwrap(); panic!("done");',
        "done",
    ),
}


@pytest.mark.parametrize("deed", ESCAPES)
def test_a_hostile_build_script_ends_with_one_error_and_leaves_nothing(
    deed: str, adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(reason := confined.confinement(), str):
        pytest.skip(reason)
    release = built()
    monkeypatch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person" / ".ssh").mkdir(parents=True)
    (tmp_path / "person" / ".ssh" / "id").write_text("secret")
    monkeypatch.setenv(confined.MINUTES, "0.1" if deed == "never ends" else "5")
    outside, shared = tmp_path / "outside", tmp_path / "cache" / "cargo" / "thing-1.0.0"
    before = {path: path.lstat().st_mtime_ns for path in shared.rglob("*")}
    script, says = ESCAPES[deed]
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = script.format(outside=outside, release=shared, port=server.getsockname()[1], home=tmp_path / "person")
        hostile = tree(workspace(**{"inner/build.rs": f"fn main() {{ {done} }}"}))
        with pytest.raises(MachineError, match=says):
            built(hostile)
    assert not outside.exists()
    assert not is_cargo_built("thing", "1.0.0", hostile)
    assert not list((tmp_path / "cache" / "stacks" / "thing").rglob("*.making-*"))
    assert {path: path.lstat().st_mtime_ns for path in shared.rglob("*")} == before
    assert output(built(tree(workspace(), "main-2"))) == "1.0.0+sources outer inner"
    assert Path(release.path).is_file()


def test_a_macro_of_sources_is_confined_as_it_runs_while_they_are_compiled(adapters: Path, tmp_path: Path) -> None:
    if isinstance(reason := confined.confinement(), str):
        pytest.skip(reason)
    outside = tmp_path / "outside"
    macro = (
        "extern crate proc_macro;\n#[proc_macro]\npub fn text(_: proc_macro::TokenStream) -> proc_macro::TokenStream "
        f'{{ std::fs::write("{outside}", "bad").unwrap(); proc_macro::TokenStream::new() }}\n'
    )
    files = workspace(
        **{
            "Cargo.toml": WORKSPACE.replace('"inner"', '"inner", "own"'),
            "own/Cargo.toml": crate("own", "0.1.0", "[lib]\nproc-macro = true\n"),
            "own/src/lib.rs": macro,
            "inner/Cargo.toml": crate("inner", "0.3.1", '[dependencies]\nown = { path = "../own" }\n'),
            "inner/src/lib.rs": f"own::text!();\n{INNER}",
        }
    )
    with pytest.raises(MachineError, match="Read-only file system"):
        built(tree(files))
    assert not outside.exists()


def test_no_host_that_sources_name_is_asked_for_a_repository(adapters: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/extra.git"
        for section in ("dependencies", "build-dependencies"):
            needs = crate("inner", "0.3.1", f'[{section}]\nextra = {{ git = "{url}" }}\n')
            with pytest.raises((InputError, MachineError), match=r"of a repository|not allowed"):
                sources = tree(workspace(**{"inner/Cargo.toml": needs}), f"main-{section}")
                state_crate_version(sources.folder, LIBRARIES)
                built(sources)
        optional = crate("inner", "0.3.1", f'[dependencies]\nextra = {{ git = "{url}", optional = true }}\n')
        hidden = workspace(**{"inner/Cargo.toml": optional + '[features]\ndefault = ["extra"]\n'})
        with pytest.raises(MachineError, match="not allowed"):
            built(tree(hidden, "main-optional"))
        with pytest.raises(TimeoutError):
            server.accept()


def test_another_registry_that_sources_name_is_refused(adapters: Path) -> None:
    needs = crate("inner", "0.3.1", '[dependencies]\nextra = { version = "1", registry-index = "https://a.invalid" }\n')
    with pytest.raises(InputError, match=r"of the registry https://a\.invalid"):
        state_crate_version(tree(workspace(**{"inner/Cargo.toml": needs})).folder, LIBRARIES)


def test_settings_of_cargo_in_sources_that_change_no_program_do_not_count(adapters: Path) -> None:
    settings = '[net]\noffline = false\n[http]\nproxy = "127.0.0.1:1"\n[term]\nquiet = true\n'
    assert output(built(tree(workspace(**{".cargo/config.toml": settings})))) == "1.0.0+sources outer inner"


def test_sources_that_do_not_compile_leave_what_was_compiled(adapters: Path) -> None:
    first = built(tree(workspace()))
    with pytest.raises(MachineError, match="exit code 101"):
        built(tree(workspace(**{"inner/src/lib.rs": "this is no Rust"}), "bad-1"))
    assert built(tree(workspace(), "main-2")).digest == first.digest


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Cargo.toml": f'{WORKSPACE}[patch.crates-io]\nextra = {{ git = "https://a.test/b" }}\n'}, "patches extra"),
        ({"Cargo.toml": f'{WORKSPACE}[patch.crates-io]\nextra = {{ path = "../b" }}\n'}, "patches extra of crates-io"),
        (
            {"Cargo.toml": f'{WORKSPACE}[patch."https://a.test/b"]\nextra = {{ path = "b" }}\n'},
            "patches extra of https",
        ),
        ({"Cargo.toml": f'{WORKSPACE}[replace]\n"a:1.0.0" = {{ path = "b" }}\n'}, r"\[replace\]"),
        ({"Cargo.toml": "no TOML"}, "cannot be read"),
        ({"Cargo.toml": '[workspace]\nmembers = ["outer"]\n', "outer/Cargo.toml": "[package]"}, "cargo cannot read"),
        ({".cargo/config.toml": '[build]\nrustflags = ["-Copt-level=0"]\n[net]\nretry = 1\n'}, "sets build, and"),
        ({".cargo/config": '[source.crates-io]\nreplace-with = "v"\n'}, "sets source"),
        ({".cargo/config.toml": "[target.x86_64-unknown-linux-gnu]\nlinker = 'x'\n"}, "sets target"),
        ({"rust-toolchain.toml": '[toolchain]\nchannel = "1.2.3"\n'}, r"rust-toolchain.toml asks for Rust 1\.2\.3"),
        ({"rust-toolchain": "nightly-2020-01-01\n"}, "asks for Rust nightly"),
        (
            {"inner/Cargo.toml": crate("inner", "0.3.1", '[dependencies]\nextra = { path = "../../extra" }\n')},
            r"inner is built with extra in .*, which is not in the sources",
        ),
        (
            {
                "inner/Cargo.toml": crate(
                    "inner", "0.3.1", '[build-dependencies]\nextra = { git = "https://a.test/b" }\n'
                )
            },
            "inner is built with extra of a repository",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sources_whose_manifests_would_not_be_heeded_are_refused(
    home: Path, tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    write({tmp_path / "tree" / path: text for path, text in workspace(**changes).items()})
    write({tmp_path / "extra/Cargo.toml": crate("extra", "1.0.0"), tmp_path / "extra/src/lib.rs": ""})
    with pytest.raises(InputError, match=reason) as error:
        state_crate_version(tmp_path / "tree", LIBRARIES)
    assert error.value.hint


@pytest.mark.parametrize(
    "harmless",
    [
        {".cargo/config.toml": '[alias]\nx = "run"\n[term]\nquiet = true\n[target.wasm32]\nrunner = "r"\n'},
        {"rust-toolchain.toml": '[toolchain]\nchannel = "stable"\ncomponents = ["clippy"]\n'},
        {"rust-toolchain.toml": '[toolchain]\ncomponents = ["clippy"]\n'},
        {"inner/Cargo.toml": crate("inner", "0.3.1", '[dev-dependencies]\nextra = { git = "https://a.test/b" }\n')},
        {
            "Cargo.toml": f'{WORKSPACE}[workspace.package]\nversion = "1.0.0"\n',
            "outer/Cargo.toml": '[package]\nname = "outer"\nversion.workspace = true\nedition = "2021"\n',
        },
    ],
    ids=["settings", "stable", "components", "tests", "inheritance"],
)
def test_what_does_not_change_a_program_is_no_reason_to_refuse(
    home: Path, tmp_path: Path, harmless: dict[str, str]
) -> None:
    write({tmp_path / "tree" / path: text for path, text in workspace(**harmless).items()})
    assert state_crate_version(tmp_path / "tree", LIBRARIES) == "1.0.0"


def test_sources_of_another_project_are_refused_with_its_name(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"no Cargo\.toml, and are none of outer"):
        state_crate_version(empty, LIBRARIES)
    write({tmp_path / "tree" / path: text for path, text in workspace().items()})
    with pytest.raises(InputError, match="the sources are those of inner, outer"):
        state_crate_version(tmp_path / "tree", ("another",))
    with pytest.raises(InputError, match=r"the workspace of the sources is .*tree$"):
        state_crate_version(tmp_path / "tree" / "outer", LIBRARIES)
    alone = {"Cargo.toml": crate("inner", "0.3.0"), "src/lib.rs": INNER}
    write({tmp_path / "alone" / path: text for path, text in alone.items()})
    assert state_crate_version(tmp_path / "alone", LIBRARIES) == ""


def test_sources_without_the_files_of_a_sub_module_are_refused(home: Path, tmp_path: Path) -> None:
    write({tmp_path / "tree" / path: text for path, text in workspace().items()})
    assert state_crate_version(tmp_path / "tree", LIBRARIES, "deps/c") == "1.0.0"
    write({tmp_path / "tree" / "outer" / "src" / "build.rs": 'fn main() { cmake::build("deps/c"); }'})
    with pytest.raises(InputError, match="nothing in outer/deps/c, a sub-module"):
        state_crate_version(tmp_path / "tree", LIBRARIES, "deps/c")
    write({tmp_path / "tree" / "outer" / "deps" / "c" / "CMakeLists.txt": ""})
    assert state_crate_version(tmp_path / "tree", LIBRARIES, "deps/c") == "1.0.0"


def test_released_crates_are_laid_out_as_their_repository_has_them(adapters: Path, tmp_path: Path) -> None:
    into = tmp_path / "unpacked"
    cargo.unpack("thing", "1.0.0", (*LIBRARIES, "never"), into)
    files = {str(path) for path in read_folder(into)}
    assert files == {"Cargo.toml", *(f"{name}/{file}" for name in LIBRARIES for file in ("Cargo.toml", "src/lib.rs"))}
    assert state_crate_version(into, LIBRARIES) == "1.0.0"
    shutil.copytree(into, SourceTree("thing", "patched-1", "1.0.0", "", "").folder)
    assert output(built(SourceTree("thing", "patched-1", "1.0.0", "", "0"))) == "1.0.0+sources outer inner"


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_bytes(b"other"), Path.unlink], ids=["another digest", "missing"]
)
def test_an_archive_that_is_not_the_lock_s_is_not_unpacked(
    adapters: Path, home: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    damage(home / ARCHIVES / "inner-0.3.1.crate")
    with pytest.raises(MachineError, match=r"no archive of inner 0\.3\.1 has the digest of"):
        cargo.unpack("thing", "1.0.0", LIBRARIES, tmp_path / "unpacked")


def test_changes_of_a_lock_are_those_of_the_registry() -> None:
    def lock(*packages: tuple[str, str, bool]) -> str:
        rows = (
            f'[[package]]\nname = "{name}"\nversion = "{version}"\n' + (f'source = "{REGISTRY}"\n' if known else "")
            for name, version, known in packages
        )
        return "\n".join(("version = 4\n", *rows))

    before = lock(("a", "1.0.0", True), ("b", "1.0.0", True), ("own", "1.0.0", False), ("tree", "1.0.0", True))
    after = lock(("a", "1.0.1", True), ("c", "2.0.0", True), ("own", "1.0.0+sources", False), ("tree", "1.0.0", False))
    assert lock_changes(before, after, {"tree"}) == ("-a 1.0.0", "+a 1.0.1", "-b 1.0.0", "+c 2.0.0")
    assert lock_changes(before, before, ()) == ()
