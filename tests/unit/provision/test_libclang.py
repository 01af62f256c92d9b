"""The pinned libclang: which builds get it, and how what is there is compared with what was fetched."""

from pathlib import Path

import pytest

from longlook.core.digests import file_digest
from longlook.core.errors import MachineError
from longlook.core.paths import adapters_dir, cache_dir
from longlook.provision import cargo, libclang
from longlook.provision.provenance.made import of_libclang


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    library = libclang.folder() / libclang.LIBRARY
    library.parent.mkdir(parents=True)
    library.write_bytes(b"a library")
    (library.parent / "digest.txt").write_text(file_digest(library))
    return library


def test_crates_that_read_headers_of_c_need_it_and_others_do_not() -> None:
    needed = {
        lock.parent.relative_to(adapters_dir()).as_posix()
        for lock in adapters_dir().glob("*/versions/*/Cargo.lock")
        if libclang.is_needed(lock.read_text())
    }
    assert needed == {"quiche/versions/0.30.0"}


def test_its_pin_is_part_of_what_compiles_the_versions_that_need_it() -> None:
    assert libclang.NAME in cargo.toolchain("quiche", "0.30.0")
    assert "libclang" not in cargo.toolchain("quiche", "0.28.0")


def test_a_build_finds_the_library_and_the_headers_of_the_c_compiler(fetched: Path) -> None:
    found = libclang.environment()
    assert found["LIBCLANG_PATH"] == str(fetched.parent)
    assert Path(found["BINDGEN_EXTRA_CLANG_ARGS"].removeprefix("-isystem "), "stddef.h").is_file()


def test_one_that_is_not_as_it_was_fetched_is_fetched_anew(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> Path:
        raise MachineError("the index does not answer", "")

    monkeypatch.setattr(libclang, "unpack", unreachable)
    assert libclang.is_fetched()
    libclang.environment()
    fetched.write_bytes(b"another library")
    assert not libclang.is_fetched()
    with pytest.raises(MachineError, match="the index does not answer"):
        libclang.environment()


def test_it_is_known_by_its_pins(fetched: Path) -> None:
    made = of_libclang()
    (package,) = made.components or ()
    assert (made.name, package.ecosystem, len(package.digests)) == ("libclang@18.1.1", "pypi", 2)
    assert package.vouched_by == "src/longlook/provision/libclang.py in the repository"


def test_its_place_is_named_after_what_is_pinned() -> None:
    assert libclang.folder().parent == cache_dir() / "libclang"
    assert libclang.VERSION in libclang.folder().name
