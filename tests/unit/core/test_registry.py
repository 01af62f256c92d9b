"""Plug-ins are found by folder, and mistakes in them are explained."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError

PLUGIN = """
from longlook.core.stack import Stack, Version
STACK = Stack(
    name="{name}", summary="", roles=("server",), protocols=("h3",), connections=(), versions=(Version("1", ""),),
    knobs={{}}, log_formats=(), install=lambda version: None, {field}=False,
)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    (tmp_path / "stacks").mkdir()
    registry.forget()
    yield tmp_path / "stacks" / "mine.py"
    registry.forget()


def test_a_plug_in_of_a_folder_is_found(plugin: Path, caplog: pytest.LogCaptureFixture) -> None:
    plugin.write_text(PLUGIN.format(name="mine", field="server_reports_state"))
    assert "mine" in registry.stacks()
    assert caplog.messages == []


def test_a_family_of_plug_ins_is_one_file(plugin: Path, caplog: pytest.LogCaptureFixture) -> None:
    family = "from dataclasses import replace\nSTACKS = (STACK, replace(STACK, name='yours'))\ndel STACK\n"
    plugin.write_text(PLUGIN.format(name="mine", field="waits") + family)
    assert {"mine", "yours", "quic-go"} <= registry.stacks().keys()
    assert registry.source("stacks", "yours") == registry.source("stacks", "mine") == plugin
    places = [registry.place("stacks", "yours")]
    registry.load_only("stacks", places)
    assert list(registry.stacks()) == ["mine", "yours"]
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLUGIN.format(name="mine", field="server_tells_state"), "has another name now (write 'server_reports_state')"),
        (PLUGIN.format(name="mine", field="server_sings"), "unexpected keyword argument 'server_sings', line 3 of"),
        (PLUGIN.format(name="mine@1", field="waits"), "name 'mine@1' cannot be one"),
        (PLUGIN.format(name="kernel", field="waits"), "name 'kernel' cannot be one"),
        ("from longlook.installing_rust import cargo_build\n", "modules have moved"),
        ("from longlook.explain.side import Pair\n", "it is longlook.explain.pair now"),
        ("from longlook.explain import remedies\n", "it is longlook.explain.changes now"),
        ("from longlook.explain.cause import Kind\n", "it is longlook.explain.cause.Purpose now"),
        ("import nonexistent\n", "No module named 'nonexistent', line 1 of"),
        ("def broken(:\n", "SyntaxError"),
        ("x = 1\n\nraise ValueError('no')\n", "ValueError: no, line 3 of"),
        ("import sys\nsys.exit(5)\n", "SystemExit"),
        ("STACK = 5\n", "its STACK is not a plug-in (see CONTRIBUTING.md on stacks)"),
        ("from types import SimpleNamespace\nSTACK = SimpleNamespace(name='x')\n", "its STACK is not a plug-in"),
        ("x = 1\n", "it defines no STACK"),
        ("STACKS = ()\n", "its STACKS is no tuple of plug-ins"),
        ("STACKS = 5\n", "its STACKS is no tuple of plug-ins"),
        ("STACKS = (5,)\n", "one of its STACKS is not a plug-in"),
        (PLUGIN.format(name="mine", field="waits") + "STACKS = (STACK,)\n", "it defines both STACK and STACKS"),
    ],
)
def test_a_broken_plug_in_is_named_and_left_out_and_the_others_work(
    plugin: Path, text: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin.write_text(text)
    (plugin.parent / "other.py").write_text(PLUGIN.format(name="other", field="waits"))
    assert {"other", "quic-go"} <= registry.stacks().keys()
    assert len(registry.stacks()) == len(set(registry.stacks()) - {"mine", "kernel", "x", "mine@1"})
    (message,) = caplog.messages
    assert message.startswith(f"{plugin}: this plug-in is left out: ")
    assert words in message
    with pytest.raises(InputError, match="unknown stack 'mine'") as caught:
        registry.stack("mine")
    assert f"left out: {plugin}" in (caught.value.hint or "")


def test_a_warning_of_a_broken_plug_in_is_on_standard_error_and_the_command_works(plugin: Path) -> None:
    plugin.write_text("def broken(:\n")
    code = "from longlook.core import registry; print(len(registry.stacks())); registry.load('metrics')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 1
    assert done.stderr.count("left out") == 1
    assert str(plugin) in done.stderr


def test_two_of_one_name_are_an_error_that_names_both(plugin: Path) -> None:
    for name in ("mine", "other"):
        plugin.with_stem(name).write_text(PLUGIN.format(name="mine", field="waits"))
    with pytest.raises(InputError, match=r"stack 'mine' is defined twice: .*mine\.py and .*other\.py"):
        registry.stacks()


@pytest.mark.parametrize(("made", "words"), [(False, "is no folder"), (True, "has none of the folders stacks,")])
def test_a_root_without_plug_ins_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, made: bool, words: str
) -> None:
    root = tmp_path / "plugs"
    if made:
        root.mkdir()
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(root))
    registry.forget()
    registry.load("stacks")
    registry.toml_files("studies", "study")
    registry.forget()
    (message,) = caplog.messages
    assert message.startswith(f"LONGLOOK_PLUGINS: {root} {words}")


def test_another_process_needs_to_load_the_chosen_plug_ins_alone(plugin: Path) -> None:
    plugin.write_text(PLUGIN.format(name="mine", field="server_reports_state"))
    places = [registry.place("stacks", name) for name in ("mine", "quic-go")]
    assert places == [
        registry.ModulePlace("stacks", "longlook_plugins.stacks.mine", str(plugin)),
        registry.ModulePlace("stacks", "longlook.stacks.quic_go"),
    ]
    program = (
        "import sys; from longlook.core import registry; from longlook.core.registry import ModulePlace\n"
        f"registry.load_only('stacks', {places!r})\n"
        "others = [name for name in sys.modules if name.startswith('longlook.stacks.')]\n"
        "print(*registry.stacks(), *others, 'importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mine", "quic-go", "longlook.stacks.quic_go", "False"]


def test_a_place_of_no_plug_in_is_refused() -> None:
    with pytest.raises(InputError, match="unknown stack 'quic-goo'"):
        registry.place("stacks", "quic-goo")


def test_every_plugin_file_is_registered() -> None:
    package = Path(registry.__file__).parents[1]
    for folder in registry.CONSTANTS:
        files = [file for file in (package / folder).glob("*.py") if not file.name.startswith("_")]
        assert files, folder
        assert {registry.source(folder, name) for name in registry.load(folder)} >= set(files)
