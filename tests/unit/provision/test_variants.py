"""Variants of shipped stacks: other sources, another adapter, set knobs, other arguments."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.job import Identity, Program
from longlook.core.model import Scalar
from longlook.core.paths import adapter_dir, adapter_from, adapters_dir
from longlook.core.stack import Command, ServerJob, Stack
from longlook.provision import build_cache
from longlook.provision.variants import variant
from longlook.stacks.aioquic import STACK as AIOQUIC
from longlook.stacks.chromium import STACK as CHROMIUM
from longlook.stacks.ngtcp2 import STACK as NGTCP2
from longlook.stacks.quic_go import STACK as QUIC_GO
from longlook.stacks.quinn import STACK as QUINN

PROGRAM = Program("/program", "digest")
JOB = ServerJob("h3", "198.18.0.2", 443, "/www", Identity("a", "cert", "key", "ca", "spki"), {})


@pytest.mark.parametrize(
    "name", [name for name, stack in registry.stacks().items() if stack.server_command and stack.versions]
)
def test_every_stack_has_variants(name: str) -> None:
    base = registry.stack(name)
    made = variant(base, "mine")
    version = base.default_version
    assert (made.name, made.version_names) == ("mine", (version,))
    assert made.protocols_of(version) == base.protocols_of(version)
    assert made.connections_of(version) == base.connections_of(version)
    for role in base.roles:
        assert set(made.knobs_of(version, role)) == set(base.knobs_of(version, role))


def test_an_adapter_stands_in_for_the_shipped_one_while_it_is_built(tmp_path: Path) -> None:
    with adapter_from("quinn", tmp_path):
        assert adapter_dir("quinn") == tmp_path
        assert adapter_dir("tquic") == adapters_dir() / "tquic"
    assert adapter_dir("quinn") == adapters_dir() / "quinn"


@pytest.mark.parametrize("base", [QUIC_GO, QUINN, AIOQUIC, NGTCP2], ids=lambda stack: stack.name)
def test_another_adapter_is_another_program(base: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build is asked for by the folder that it is made from: one that differs in a file has another key."""
    monkeypatch.setattr(build_cache, "_is_intact", lambda folder: asked.append(folder.name) or True)
    monkeypatch.setattr(build_cache, "_is_intact_folder", lambda folder: asked.append(folder.name) or True)
    asked: list[str] = []
    copy = tmp_path / "adapter"
    shutil.copytree(adapters_dir() / base.name, copy, ignore=shutil.ignore_patterns("__pycache__"))
    version = base.default_version
    same = variant(base, "mine", adapter=copy)
    assert base.installed(version)
    assert same.installed(version)
    for source in (*copy.glob("*.go"), *copy.glob("src/*.rs"), *copy.glob("*.py")):
        source.write_text(source.read_text() + "\n")
    assert same.installed(version)
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.parametrize(
    ("knobs", "error"),
    [
        ({"initial_windows": 4}, "no knob 'initial_windows'"),
        ({"initial_window": 0}, "0 is not allowed"),
        ({"initial_window": 4.0}, "4.0 is not allowed"),
        ({"congestion_control": "vegas"}, "'vegas' is not allowed"),
    ],
)
def test_knobs_that_cannot_be_are_refused(knobs: Mapping[str, Scalar], error: str) -> None:
    with pytest.raises(InputError, match=error):
        variant(QUINN, "mine", knobs=knobs)


def test_a_set_knob_is_the_default_so_that_a_study_can_set_another_value() -> None:
    made = variant(AIOQUIC, "mine", knobs={"initial_window": 4})
    assert made.preset == {"initial_window": 4}
    own, before = made.knobs["initial_window"], AIOQUIC.knobs["initial_window"]
    assert (own.default, own.usual, before.default) == (4, 4, 10)


def test_arguments_and_variables_stand_behind_the_programs_own() -> None:
    made = variant(QUINN, "mine", beside=Command(("--slow",), {"A": "1"}))
    assert made.server_command is not None
    assert made.client_command is not None
    command = made.server_command(PROGRAM, JOB)
    assert QUINN.server_command is not None
    assert command.argv == (*QUINN.server_command(PROGRAM, JOB).argv, "--slow")
    assert command.env == {"A": "1"}
    assert made.client_command(PROGRAM, "job.json").argv == ("/program", "client", "job.json", "--slow")


def test_a_program_of_sources_reports_that_it_is() -> None:
    made = variant(QUINN, "mine", of="0.11.9", sources="/home/me/quinn")
    assert made.version_names == ("0.11.9+sources",)
    assert made.version("0.11.9+sources").released == ""


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="chromium is not built from its adapter"):
        variant(CHROMIUM, "mine", adapter=tmp_path)
    with pytest.raises(InputError, match="chromium is not built from sources"):
        variant(CHROMIUM, "mine", sources="/home/me/chromium")
    with pytest.raises(InputError, match="quinn has no version '0'"):
        variant(QUINN, "mine", of="0")
