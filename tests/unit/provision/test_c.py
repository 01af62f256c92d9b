"""Libraries in C that are built from sources, by the machine's CMake and compiler."""

import ctypes
import socket
from pathlib import Path

import pytest

from longlook.core import InputError, MachineError
from longlook.provision import confined
from longlook.provision.build_cache import sources_digest
from longlook.provision.c import compile_c, library_of, state_cmake_version

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(answer VERSION 1.2.3 LANGUAGES C)
add_library(answer SHARED answer.c)
set_target_properties(answer PROPERTIES VERSION 4.5.6 SOVERSION 4)
install(TARGETS answer DESTINATION "${CMAKE_INSTALL_LIBDIR}")
"""
SOURCE = "const char *place(void) { return __FILE__; }\nint answer(void) { return ANSWER; }\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT + "target_compile_definitions(answer PRIVATE ANSWER=${ANSWER})\n")
    (folder / "answer.c").write_text(SOURCE)
    return folder


def build(sources: Path, entry: Path, answer: int = 42) -> Path:
    entry.mkdir(parents=True)
    return compile_c(sources, entry / "work", "answer", {"ANSWER": str(answer)})


def test_a_library_is_built_and_names_no_place_of_the_machine(sources: Path, tmp_path: Path) -> None:
    library = library_of(build(sources, tmp_path / "a" / "entry"), "libanswer")
    assert library.name == "libanswer.so.4"
    loaded = ctypes.CDLL(str(library))
    loaded.place.restype = ctypes.c_char_p
    assert loaded.answer() == 42
    assert loaded.place() == b"/answer/sources/answer.c"
    assert str(tmp_path).encode() not in library.read_bytes()


def test_equal_sources_give_equal_libraries_wherever_they_lie(sources: Path, tmp_path: Path) -> None:
    first = build(sources, tmp_path / "a" / "entry")
    assert sources_digest(build(sources, tmp_path / "another" / "place")) == sources_digest(first)
    assert sources_digest(build(sources, tmp_path / "b" / "entry", 43)) != sources_digest(first)
    assert sorted(path.name for path in sources.iterdir()) == ["CMakeLists.txt", "answer.c"]


def test_the_flags_of_the_machine_do_not_count(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(sources, tmp_path / "a" / "entry")
    monkeypatch.setenv("CFLAGS", "-O0 -g -DANSWER=41")
    monkeypatch.setenv("CMAKE_BUILD_TYPE", "Debug")
    assert sources_digest(build(sources, tmp_path / "b" / "entry")) == sources_digest(first)


def test_a_build_that_fails_shows_the_end_of_its_log(sources: Path, tmp_path: Path) -> None:
    (sources / "answer.c").write_text("int answer(void) { return nothing; }\n")
    with pytest.raises(MachineError, match=r"'nothing' undeclared") as failed:
        build(sources, tmp_path / "a" / "entry")
    assert str(tmp_path / "a" / "build.log") in (failed.value.hint or "")
    assert "nothing" in (tmp_path / "a" / "build.log").read_text()


def test_a_build_that_does_not_end_is_ended(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (sources / "CMakeLists.txt").open("a") as file:
        file.write("execute_process(COMMAND sleep 1000)\n")
    monkeypatch.setenv(confined.MINUTES, "0.05")
    with pytest.raises(MachineError, match=r"was stopped: it took more than 0\.05 minutes"):
        build(sources, tmp_path / "a" / "entry")


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        ('file(WRITE "{outside}" "bad")', "Read-only file system"),
        (
            'file(DOWNLOAD "http://127.0.0.1:{port}/" own STATUS said)\nmessage(FATAL_ERROR "${{said}}")',
            "connect to server|resolve",
        ),
        ('execute_process(COMMAND cat "{secret}" COMMAND_ERROR_IS_FATAL ANY)', "No such file"),
        ('execute_process(COMMAND sh -c "echo > /dev/sda" COMMAND_ERROR_IS_FATAL ANY)', "Read-only file system"),
        (
            'execute_process(COMMAND sh -c "yes | split -b 1000000")',
            "was stopped: its folder and its log have more than",
        ),
    ],
    ids=["writes", "connects", "reads a key", "writes to a disk", "fills the disk"],
)
def test_a_hostile_build_ends_with_one_error(
    deed: str, says: str, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(reason := confined.confinement(), str):
        pytest.skip(reason)
    monkeypatch.setattr(confined, "usual_limits", lambda: confined.BuildLimits(300, folder_bytes=64 << 20))
    monkeypatch.setenv("HOME", str(tmp_path))
    secret, outside = tmp_path / ".ssh" / "id", tmp_path / "outside"
    secret.parent.mkdir()
    secret.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = deed.format(outside=outside, secret=secret, port=server.getsockname()[1])
        with (sources / "CMakeLists.txt").open("a") as file:
            file.write(f"{done}\n")
        with pytest.raises(MachineError, match=says):
            build(sources, tmp_path / "a" / "entry")
    assert not outside.exists()


def test_a_library_that_is_a_link_out_of_the_build_is_refused(sources: Path, tmp_path: Path) -> None:
    with (sources / "CMakeLists.txt").open("a") as file:
        file.write(
            "install(CODE [[file(CREATE_LINK /etc/passwd ${CMAKE_INSTALL_PREFIX}/lib/libother.so.1 SYMBOLIC)]])\n"
        )
    prefix = build(sources, tmp_path / "a" / "entry")
    with pytest.raises(MachineError, match="leads out of its folder"):
        library_of(prefix, "libother")


def test_a_build_that_installs_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libanswer.a").touch()
    with pytest.raises(MachineError, match="did not install libanswer"):
        library_of(tmp_path, "libanswer")


def test_the_version_and_the_project_are_read_from_the_sources(sources: Path, tmp_path: Path) -> None:
    assert state_cmake_version(sources, "answer") == "1.2.3"
    with pytest.raises(InputError, match="the sources are those of answer"):
        state_cmake_version(sources, "ngtcp2")
    with pytest.raises(InputError, match=r"no CMakeLists\.txt, and are none of ngtcp2"):
        state_cmake_version(tmp_path, "ngtcp2")
    (sources / "CMakeLists.txt").write_text("project(answer)\n")
    assert state_cmake_version(sources, "answer") == ""
