"""The declaration of ngtcp2: which version is taken, what is pinned, and which sources are its own."""

from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.core.paths import adapters_dir
from longlook.provision import pins
from longlook.stacks.ngtcp2 import STACK, SUITES


def test_studies_that_name_no_version_keep_the_one_of_their_records() -> None:
    assert STACK.default_version == "0.12.1"
    assert STACK.version_names == ("0.12.1", "1.11.0")


def test_every_list_names_its_release_of_debian_and_the_sources_are_pinned() -> None:
    packages = adapters_dir() / "ngtcp2" / "packages"
    assert {file.stem for file in packages.glob("*.txt")} == set(SUITES)
    (pin,) = pins.read_pins(packages / "1.11.0-sources.lock")
    assert (pin.name, pin.version, pin.architecture) == ("ngtcp2", "1.11.0", "source")
    assert len(pin.sha256) == 64


def test_a_version_that_is_not_built_from_sources_takes_no_patches(tmp_path: Path) -> None:
    assert STACK.from_sources is not None
    with pytest.raises(InputError, match=r"ngtcp2 0\.12\.1 is not built from sources"):
        STACK.from_sources.unpack("0.12.1", tmp_path / "into")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("project(ngtcp2 VERSION 0.19.1)\n", r"those of ngtcp2 0\.19\.1"),
        ("project(nghttp3 VERSION 1.8.0)\n", "those of nghttp3"),
    ],
)
def test_sources_with_another_interface_are_refused(tmp_path: Path, text: str, says: str) -> None:
    assert STACK.from_sources is not None
    (tmp_path / "CMakeLists.txt").write_text(text)
    with pytest.raises(InputError, match=says):
        STACK.from_sources.state_version(tmp_path)
