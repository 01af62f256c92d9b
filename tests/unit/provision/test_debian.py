"""Lists of Debian's libraries; fetching them is tried by the conformance tests."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError, MachineError
from longlook.core.paths import adapters_dir
from longlook.provision.debian import fetch_libraries, listed_libraries
from longlook.stacks.ngtcp2 import STACK


def test_debians_ngtcp2_is_loaded_last_and_a_list_may_name_packages_without_a_library() -> None:
    packages = adapters_dir() / "ngtcp2" / "packages"
    found = [package for package, _ in listed_libraries(packages / "0.12.1.txt")]
    assert found[-3:] == ["libngtcp2-9", "libngtcp2-crypto-gnutls2", "libnghttp3-3"]
    assert listed_libraries(packages / "1.11.0-http3.txt") == [("libnghttp3-9", "libnghttp3.so.9")]


def test_unknown_version_of_ngtcp2() -> None:
    with pytest.raises(InputError):
        STACK.install("0.1.0")


def test_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "list.txt").write_text("libthing libthing.so.1\n")
    (tmp_path / "list.lock").write_text(f"libthing 1.0 amd64 1 {'0' * 64} pool/main/libt/libthing.deb\n")
    with pytest.raises(MachineError, match="apt-get is missing") as caught:
        fetch_libraries(tmp_path / "list.txt", "bookworm", tmp_path / "work", tmp_path / "lib")
    assert (caught.value.hint or "") == snapshot
    assert not (tmp_path / "lib").exists()


def test_pins_of_other_packages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("libthing libthing.so.1\nlibother libother.so.1\n")
    (tmp_path / "list.lock").write_text(f"libthing 1.0 amd64 1 {'0' * 64} pool/main/libt/libthing.deb\n")
    with pytest.raises(MachineError, match=r"list\.lock does not pin what list\.txt lists"):
        fetch_libraries(tmp_path / "list.txt", "bookworm", tmp_path / "work", tmp_path / "lib")
