import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.digests import file_digest
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.provision import build_steps
from longlook.provision.build_cache import build, is_built, toolchain_version
from longlook.stacks.quic_go import STACK


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "main.sh").write_text("#!/bin/sh\necho hello\n")
    return folder


def copy_main(work: Path, out: Path) -> None:
    with (work.parent.parent.parent / "builds.log").open("a") as log:
        log.write("built\n")
    build_steps.run(("cp", "main.sh", str(out)), cwd=work, env={})


def make(sources: Path, version: str = "1.0", toolchain: str = "cp 9") -> Program:
    return build("thing", version, sources, lambda: toolchain, copy_main)


def builds(cache: Path) -> int:
    return sum(len(log.read_text().splitlines()) for log in cache.glob("stacks/thing/builds.log"))


def test_built_once_and_executable(sources: Path, cache: Path) -> None:
    assert not is_built("thing", "1.0", sources, lambda: "cp 9")
    program = make(sources)
    assert is_built("thing", "1.0", sources, lambda: "cp 9")
    assert make(sources) == program
    assert builds(cache) == 1
    assert Path(program.path).stat().st_mode & stat.S_IXUSR
    assert program.digest == file_digest(Path(program.path))
    assert sorted(path.name for path in Path(program.path).parent.iterdir()) == ["program", "program.json"]


def test_key_covers_version_sources_and_toolchain(sources: Path, cache: Path) -> None:
    programs = [make(sources), make(sources, version="1.1"), make(sources, toolchain="cp 10")]
    (sources / "main.sh").write_text("#!/bin/sh\necho bye\n")
    programs.append(make(sources))
    assert len({program.path for program in programs}) == 4
    assert builds(cache) == 4


@pytest.mark.parametrize("file", ["program", "program.json"])
def test_corrupt_entry_is_rebuilt(sources: Path, cache: Path, file: str) -> None:
    program = make(sources)
    (Path(program.path).parent / file).write_text("rotten")
    assert not is_built("thing", "1.0", sources, lambda: "cp 9")
    assert make(sources) == program
    assert file_digest(Path(program.path)) == program.digest
    assert builds(cache) == 2


def test_two_installs_at_once_build_once(sources: Path, cache: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        made = {each.result() for each in [pool.submit(make, sources) for _ in range(4)]}
    assert len(made) == 1
    assert builds(cache) == 1


def test_failed_build_shows_the_end_of_its_log_and_leaves_nothing(
    sources: Path, cache: Path, snapshot: SnapshotAssertion
) -> None:
    def fail(work: Path, _out: Path) -> None:
        build_steps.run(("sh", "-c", "seq 100; echo broken >&2; exit 3"), env={"PATH": "/usr/bin:/bin"})

    with pytest.raises(MachineError) as caught:
        build("thing", "1.0", sources, lambda: "sh", fail)
    assert caught.value.message == snapshot
    assert caught.value.message.endswith("100\nbroken")
    assert "\n80\n" not in caught.value.message
    assert [path for path in cache.rglob("*") if path.name.endswith("work") or path.name == "program"] == []


def test_missing_toolchain_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        toolchain_version(("no-such-compiler", "--version"), "apt-get install it", tmp_path)
    assert (caught.value.message, caught.value.hint) == ("no-such-compiler is not installed", "apt-get install it")


def test_missing_sources_are_reported(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no sources"):
        make(tmp_path / "nowhere")


def test_quic_go_without_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not STACK.installed("0.65.0")
    with pytest.raises(MachineError) as caught:
        STACK.install("0.65.0")
    assert (caught.value.hint or "") == snapshot


def test_quic_go_with_too_old_a_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.19.8\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(MachineError, match=r"go1\.19\.8"):
        STACK.install("0.65.0")


def test_default_version_of_quic_go_is_the_pinned_one() -> None:
    pinned = (adapters_dir() / "quic-go" / "go.mod").read_text()
    assert f"github.com/quic-go/quic-go v{STACK.default_version}\n" in pinned


def test_unknown_version_of_quic_go() -> None:
    with pytest.raises(InputError):
        STACK.install("0.1.0")


def test_a_readme_does_not_make_another_program(sources: Path, cache: Path) -> None:
    first = make(sources)
    (sources / "README.md").write_text("for people")
    assert make(sources) == first
    assert builds(cache) == 1
