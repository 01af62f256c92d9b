import subprocess
import zipfile
from datetime import date
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.versions import untuned_name
from longlook.provision.go import (
    Patches,
    assembled,
    compile_go,
    release_of,
    toolchain,
    toolchain_module,
    toolchain_sums,
)
from longlook.stacks.quic_go import STACK, library_of, older_go, renamed


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    files = {
        "main.go": 'import "a.example/new/part"',
        "main_test.go": "tests",
        "README.md": "for people",
        "go.mod": "newest",
        "go.sum": "sums",
        "dial.go": "dial now",
        "_older/dial-until-0.9.go": "dial 0.9",
        "_older/dial-until-0.17.go": "dial 0.17",
        "_older/extra-until-0.17.go": "extra",
        "versions/0.10.1/go.mod": "0.10.1",
        "versions/0.10.1/go.sum": "its sums",
        "_patches/0.20.0/b.patch": "patch",
        "_patches/0.20.0/dial.go": "dial tuned",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_newest_is_made_of_what_lies_open(adapter: Path) -> None:
    with assembled(adapter, "0.20.0") as folder:
        newest = {name: (adapter / name).read_text() for name in ("main.go", "dial.go", "go.mod", "go.sum")}
        assert contents(folder) == newest


@pytest.mark.parametrize(
    ("version", "dial"), [("0.8.3", "0.9"), ("0.9.9", "0.9"), ("0.10.1", "0.17"), ("0.17.0", "0.17")]
)
def test_the_first_file_that_reaches_the_version_stands_in(adapter: Path, version: str, dial: str) -> None:
    with assembled(adapter, version) as folder:
        assert contents(folder)["dial.go"] == f"dial {dial}"
        assert contents(folder)["extra.go"] == "extra"


ADAPTER_PATCH = """--- a/dial.go
+++ b/dial.go
@@ -1 +1 @@
-dial now
\\ No newline at end of file
+dial otherwise
\\ No newline at end of file
"""


def test_a_variant_has_its_patches_after_the_version_s_own(adapter: Path, tmp_path: Path) -> None:
    for name in ("b.patch", "a.patch"):
        (tmp_path / name).write_text(f"mine {name}")
    (tmp_path / "adapter.patch").write_text(ADAPTER_PATCH)
    patches = Patches((tmp_path / "b.patch", tmp_path / "a.patch"), (tmp_path / "adapter.patch",))
    with assembled(adapter, "0.20.0", patches=patches) as folder:
        made = contents(folder)
    assert made["dial.go"] == "dial otherwise"
    assert [made[name] for name in sorted(made) if name.endswith(".patch")] == ["mine b.patch", "mine a.patch"]
    with assembled(adapter, "0.20.0+knobs", patches=Patches(patches.library)) as folder:
        made = contents(folder)
    assert [made[name] for name in sorted(made) if name.endswith(".patch")] == ["patch", "mine b.patch", "mine a.patch"]


def test_a_patch_that_is_missing_or_does_not_apply_is_named(adapter: Path, tmp_path: Path) -> None:
    patch = tmp_path / "adapter.patch"
    for patches in (Patches((patch,)), Patches((), (patch,))):
        with (
            pytest.raises(InputError, match=r"adapter\.patch cannot be read"),
            assembled(adapter, "0.20.0", patches=patches),
        ):
            pass
    patch.write_text(ADAPTER_PATCH.replace("dial now", "dial then"))
    with (
        pytest.raises(InputError, match=r"adapter\.patch does not apply: (.|\n)*dial\.go"),
        assembled(adapter, "0.20.0", patches=Patches((), (patch,))),
    ):
        pass


@pytest.mark.parametrize("version", ["mine", "0", "0.x", "v0.65.0", ""])
def test_a_version_without_two_numbers_is_refused_in_words(version: str) -> None:
    with pytest.raises(InputError, match="does not begin with two numbers"):
        release_of(version)


@pytest.mark.parametrize("version", ["0.65", "0.65.0+mine", "0.65-mine.3", "0.65mine"])
def test_a_variant_s_version_may_go_on_as_it_likes(version: str) -> None:
    assert release_of(version) == (0, 65)


def test_version_has_its_own_modules_and_the_librarys_name_of_then(adapter: Path) -> None:
    with assembled(adapter, "0.10.1", ("a.example/new", "a.example/old")) as folder:
        made = contents(folder)
    assert (made["go.mod"], made["go.sum"]) == ("0.10.1", "its sums")
    assert made["main.go"] == 'import "a.example/old/part"'


def test_patched_version_has_patches_that_its_toolchain_names(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longlook.provision.go.toolchain_version", lambda *_: "go1.26.8\namd64\nv1")
    with assembled(adapter, "0.20.0+knobs") as folder:
        assert contents(folder)["dial.go"] == "dial tuned"
        assert contents(folder)["library.patches/b.patch"] == "patch"
        assert "b.patch sha256:" in toolchain(folder, None)
    with pytest.raises(MachineError, match="no patches"), assembled(adapter, "0.10.1+knobs"):
        pass


def test_older_go_is_named_without_being_fetched(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longlook.provision.go.toolchain_version", lambda *_: "go1.26.8\namd64\nv1")
    assert toolchain(adapter, "1.16.15") == "go1.16.15 amd64 v1"
    monkeypatch.setattr("longlook.provision.go.toolchain_version", lambda *_: "go1.20.1\namd64\nv1")
    with pytest.raises(MachineError, match=r"needs Go 1\.21"):
        toolchain(adapter, "1.16.15")


GO = """\
#!/bin/sh
case "$*" in
"env GOVERSION") echo go1.26.0 ;;
"env GOVERSION GOOS GOARCH") printf 'go1.21.3\\nlinux\\namd64\\n' ;;
"mod download"*) printf '{"Sum": "%s"}' "$(cat "$FAKE_SUM")" ;;
build*) echo built >> "$FAKE_SUM.calls" ;;
esac
"""


@pytest.mark.parametrize("older", [None, "1.16.15"])
@pytest.mark.parametrize("true", [True, False])
def test_a_go_that_is_fetched_must_have_the_repositorys_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: str | None, true: bool
) -> None:
    (tmp_path / "go").write_text(GO)
    (tmp_path / "go").chmod(0o755)
    release = f"go{older}" if older else "go1.26.0"
    (tmp_path / "sum").write_text(toolchain_sums()[toolchain_module(release, "linux-amd64")] if true else "h1:other=")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_SUM", str(tmp_path / "sum"))
    if true:
        compile_go(tmp_path, tmp_path / "out", "a.example/new", older)
    else:
        with pytest.raises(MachineError, match=rf"{release} for linux-amd64 has the checksum h1:other="):
            compile_go(tmp_path, tmp_path / "out", "a.example/new", older)
    assert (tmp_path / "sum.calls").exists() is true


def test_every_release_of_go_that_is_fetched_is_pinned() -> None:
    fetched = {f"go{older}" for version in STACK.version_names if (older := older_go(version))}
    lines = [
        line for file in adapters_dir().glob("**/go.mod") for line in file.read_text().splitlines()
        if line.startswith("go 1.2")
    ]  # fmt: skip
    wanted = {f"go{line.split()[1]}" for line in lines if line.count(".") == 2}
    assert wanted
    assert {toolchain_module(release, "linux-amd64") for release in fetched | wanted} <= set(toolchain_sums())


@pytest.mark.parametrize("version", STACK.version_names)
def test_every_version_of_quic_go_is_pinned(version: str) -> None:
    with assembled(adapters_dir() / "quic-go", version, renamed(version)) as folder:
        library = f"{library_of(version)} v{untuned_name(version)}"
        assert f"{library}\n" in (folder / "go.mod").read_text()
        assert f"{library} h1:" in (folder / "go.sum").read_text()


def test_versions_of_quic_go_are_in_order() -> None:
    dates = [date.fromisoformat(version.released) for version in STACK.versions]
    assert dates == sorted(dates)
    assert len(dates) >= 16
    assert (older_go("0.15.7"), older_go("0.26.0"), older_go("0.48.2")) == ("1.14.15", "1.16.15", None)


def test_what_a_version_of_quic_go_can_do() -> None:
    assert ConnectionState.ZERO_RTT not in STACK.connections_of("0.17.3")
    assert ConnectionState.ZERO_RTT in STACK.connections_of("0.20.1")
    of_races = {"fallback_delay", "stall_timeout"}
    assert set(STACK.knobs_of("0.15.7", "client")) == {"max_stream_window", "max_connection_window", *of_races}
    assert "congestion_control" not in STACK.knobs_of("0.65.0", "server")
    assert "congestion_control" in STACK.knobs_of("0.65.0+knobs", "server")
    assert "retry" in STACK.knobs_of("0.26.0", "server")
    assert "retry" not in STACK.knobs_of("0.29.2", "server")


def test_an_unpacked_module_that_was_changed_is_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go compares what it downloads, and not again what it has unpacked; the proxy is a folder here."""
    proxy = tmp_path / "proxy" / "example.org" / "lib" / "@v"
    proxy.mkdir(parents=True)
    (proxy / "list").write_text("v1.0.0\n")
    (proxy / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
    (proxy / "v1.0.0.mod").write_text("module example.org/lib\n\ngo 1.21\n")
    with zipfile.ZipFile(proxy / "v1.0.0.zip", "w") as archive:
        archive.writestr("example.org/lib@v1.0.0/go.mod", "module example.org/lib\n\ngo 1.21\n")
        archive.writestr("example.org/lib@v1.0.0/lib.go", "package lib\n\nconst Answer = 42\n")
    for name, value in {
        "GOPROXY": f"file://{tmp_path / 'proxy'}",
        "GOMODCACHE": str(tmp_path / "modules"),
        "GONOSUMDB": "example.org",
        "GOFLAGS": "-modcacherw",
    }.items():
        monkeypatch.setenv(name, value)
    work = tmp_path / "work"
    work.mkdir()
    (work / "go.mod").write_text("module main\n\ngo 1.21\n\nrequire example.org/lib v1.0.0\n")
    (work / "main.go").write_text('package main\n\nimport "example.org/lib"\n\nfunc main() { println(lib.Answer) }\n')
    subprocess.run(("go", "mod", "tidy"), cwd=work, check=True, capture_output=True)
    compile_go(work, tmp_path / "program", "example.org/lib", None)
    assert (tmp_path / "program").is_file()
    unpacked = tmp_path / "modules" / "example.org" / "lib@v1.0.0" / "lib.go"
    unpacked.chmod(0o644)
    unpacked.write_text("package lib\n\nconst Answer = 666\n")
    with pytest.raises(MachineError, match=r"example\.org/lib v1\.0\.0: dir has been modified"):
        compile_go(work, tmp_path / "other", "example.org/lib", None)
    assert not (tmp_path / "other").exists()
