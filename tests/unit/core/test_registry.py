"""Plug-ins are found by folder, and mistakes in them are explained."""

from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError

PLUGIN = """
from longlook.core.stack import Stack, Version
STACK = Stack(
    name="mine", summary="", roles=("server",), protocols=("h3",), connections=(), versions=(Version("1", ""),),
    knobs={{}}, log_formats=(), install=lambda version: None, {field}=False,
)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    (tmp_path / "stacks").mkdir()
    return tmp_path / "stacks" / "mine.py"


def uncached() -> dict[str, object]:
    return registry._found.__wrapped__("stacks")


def test_a_plug_in_of_a_folder_is_found(plugin: Path) -> None:
    plugin.write_text(PLUGIN.format(field="server_reports_state"))
    assert "mine" in uncached()


def test_a_renamed_field_is_named_with_its_new_name(plugin: Path) -> None:
    plugin.write_text(PLUGIN.format(field="server_tells_state"))
    with pytest.raises(InputError) as caught:
        uncached()
    assert caught.value.message == f"{plugin}: the field 'server_tells_state' has another name now"
    assert caught.value.hint == "write 'server_reports_state'"


def test_another_mistake_of_a_plug_in_stays_as_it_is(plugin: Path) -> None:
    plugin.write_text(PLUGIN.format(field="server_sings"))
    with pytest.raises(TypeError, match="server_sings"):
        uncached()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from longlook.installing_rust import cargo_build\n", "modules have moved"),
        ("import nonexistent\n", "correct the file"),
        ("def broken(:\n", "correct the file"),
        ("STACK = 5\n", "CONTRIBUTING.md"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(plugin: Path, text: str, words: str) -> None:
    plugin.write_text(text)
    registry.forget()
    with pytest.raises(InputError, match=plugin.name) as caught:
        registry.stacks()
    assert words in (caught.value.hint or "")
