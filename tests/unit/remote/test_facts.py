"""Facts that decide a trial's bytes: what a machine says of itself, and how two machines differ."""

import sys
from pathlib import Path

from longlook.core.digests import file_digest
from longlook.remote.facts import differing, libraries_of, processor_features


def test_equal_facts_differ_in_nothing() -> None:
    assert differing({"a": "1"}, {"a": "1", "more": "2"}) == {}


def test_a_difference_has_both_values() -> None:
    assert differing({"a": "1", "b": "2"}, {"a": "0"}) == {"a": ("1", "0"), "b": ("2", "-")}


def test_the_features_are_those_of_this_processor() -> None:
    flags = Path("/proc/cpuinfo").read_text().split()
    assert all(feature in flags for feature in processor_features().split())


def test_a_program_of_the_system_has_its_libraries_by_digest() -> None:
    libraries = libraries_of("/bin/sh")
    (libc,) = [name for name in libraries if name.startswith("library libc.so")]
    assert libraries[libc] in {file_digest(path) for path in Path("/usr/lib").rglob(libc.removeprefix("library "))}


def test_a_program_in_python_has_those_of_python(tmp_path: Path) -> None:
    main = tmp_path / "example_main.py"
    main.write_text("")
    assert any(name.startswith("library libc.so") for name in libraries_of(str(main)))
    assert libraries_of(str(main)) == libraries_of(sys.executable)


def test_a_script_or_a_static_program_has_none(tmp_path: Path) -> None:
    script, static = tmp_path / "script", tmp_path / "static"
    script.write_text("#!/bin/sh\n")
    static.write_bytes(b"\x7fELF" + b"\0" * 100)
    assert libraries_of(str(script)) == libraries_of(str(static)) == {}
