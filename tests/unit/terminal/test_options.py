"""Dataclasses of options become the parameters of a command."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from longlook.core.errors import InputError
from longlook.terminal.options import expand_options, parse_changes


@dataclass(frozen=True)
class Colours:
    paper: Annotated[str, typer.Option(help="Of the paper.")]
    ink: Annotated[list[str] | None, typer.Option("--ink", help="Of the ink.")] = None
    shade: Annotated[int, typer.Option(min=1)] = 3


SEEN: list[tuple[str, Colours, bool]] = []
app = typer.Typer()


@app.command()
@expand_options
def draw(name: Annotated[str, typer.Argument()], colours: Colours, bold: bool = False) -> None:
    """Draw something."""
    SEEN.append((name, colours, bold))


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def test_a_command_gets_the_dataclass_that_its_options_make() -> None:
    answer = CliRunner().invoke(app, ["cat", "--paper", "white", "--ink", "red", "--ink", "blue", "--bold"])
    assert answer.exit_code == 0, answer.output
    assert [("cat", Colours("white", ["red", "blue"], 3), True)] == SEEN


def test_what_typer_checks_of_an_option_still_holds() -> None:
    assert CliRunner().invoke(app, ["cat", "--paper", "white", "--shade", "0"]).exit_code == 2
    assert CliRunner().invoke(app, ["cat"]).exit_code == 2  # --paper has no default
    assert SEEN == []


def test_help_shows_every_option_with_its_text_in_order() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    places = [
        text.index(part) for part in ("Draw something.", "--paper", "Of the paper.", "--ink", "--shade", "--bold")
    ]
    assert places == sorted(places)


def test_it_can_be_called_from_code_with_keywords() -> None:
    draw(name="dog", paper="black")
    assert [("dog", Colours("black"), False)] == SEEN
    with pytest.raises(TypeError):
        draw("dog", "black")


def test_changes_are_pairs() -> None:
    assert parse_changes(["network.rtt = 50ms", "a=b=c"]) == {"network.rtt": "50ms", "a": "b=c"}
    with pytest.raises(InputError, match="not KEY=VALUE"):
        parse_changes(["rtt"])
