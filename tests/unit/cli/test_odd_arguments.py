"""Every command with arguments that nobody means: an exit code and a sentence, never a traceback."""

import os
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer.main
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.core import TyperArgument, TyperOption

from longlook.cli import app
from longlook.core.errors import InputError
from longlook.core.job import Job
from longlook.core.model import Run
from longlook.engines.fake import FakeEngine
from tests.support.command_line import call_longlook

NUMBERS = ("NaN", "inf", "-inf", "-1", "0", "1e400", str(10**20), str(-(10**20)), "1_0", "٣", "½", "0x10", " ")
TEXTS = (
    *("", " ", "-", "--", "=", "a=", "=a", "a=b=c", ",", "@", "quic-go@", "@0.65.0", "quic-go@0.65.0+", "."),
    *("demo", "..", "/no/such/place"),
    *("/dev/null", "/proc/self/mem", "~", "*", "%s", "{}", "$(id)", "\x1b[31m", "a\nb", "ünïcode", "\u202eabc"),
    "x" * 5000,
    *("10mbit", "10mbit,36ms", "-10mbit,36ms", "nanbit,36ms", "1e9999mbit,1ms", "10mbit,36ms,loss=nan%", "0bit,0ms"),
    *("network.rtt=36", "network.rtt=nanms", f"rounds={10**30}", "arms.quic.server=", "seed=-1", "contrast="),
    "size=1MB",
    *NUMBERS,
)  # fmt: skip
ALWAYS = {"run": ("--dry-run",), "atlas": ("--list",)}
"""Options without which a command would begin what these tests do not want."""
OURS = ("longlook-link", "longlook-trace")


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(typer.main.get_command(app)))


class NeverRuns(FakeEngine):
    """An engine that refuses: what comes to a trial was taken for sound, and these tests run none."""

    def run(self, job: Job) -> Run:
        raise InputError("no trial runs here", "this is a test")


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No other program is started, nothing of this machine is changed, and the cache and the folder are new."""
    place = tmp_path_factory.mktemp("alone")
    begin = subprocess.Popen.__init__

    def started(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        program = Path(str(args[0] if isinstance(args, list | tuple) else args)).name
        if program not in OURS:
            raise InputError(f"{program} is not started here", "this is a test")
        begin(self, args, *rest, **options)

    def refuse(*_: object, **__: object) -> NoReturn:
        raise InputError("this is not begun here", "this is a test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", started)
        patch.setattr(os, "fork", refuse)
        patch.setattr("socket.socket.connect", refuse)
        for module in ("instruments.atlas.run", "instruments.atlas.claims.run", "study.files"):
            patch.setattr(f"longlook.{module}.list_studies", list)  # reading and planning all takes seconds
        patch.setattr("longlook.engines.choice.make_engine", lambda *_, **__: NeverRuns())
        for name in ("LONGLOOK_CACHE", "LONGLOOK_TRIALS", "HOME", "TMPDIR"):
            (place / name).mkdir()
            patch.setenv(name, str(place / name))
        (place / "here").mkdir()
        yield place / "here"


def is_number(parameter: Any) -> bool:
    return parameter.type_descriptor.annotation in (int, float)


def values_of(parameter: Any) -> st.SearchStrategy[str]:
    return st.sampled_from(NUMBERS if is_number(parameter) else TEXTS)


@st.composite
def arguments(draw: st.DrawFn, command: Any) -> list[str]:
    """Draw a value for each argument that is required, and for some of the options."""
    found: list[str] = []
    options = [each for each in command.params if isinstance(each, TyperOption) and each.name != "help"]
    chosen = draw(st.lists(st.sampled_from(options), max_size=2, unique_by=id)) if options else []
    for option in [*chosen, *(each for each in options if each.required and each not in chosen)]:
        found.append(option.opts[0] if option.opts[0].startswith("--") else option.opts[-1])
        if not option.is_flag:
            found.append(draw(values_of(option)))
    for each in command.params:
        if isinstance(each, TyperArgument) and (each.required or draw(st.booleans())):
            found.append(draw(values_of(each)))
    return found


def is_shown_safely(text: str) -> bool:
    return all(letter == "\n" or unicodedata.category(letter) not in ("Cc", "Cf") for letter in text)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_odd_arguments_are_answered(path: tuple[str, ...], alone: Path) -> None:
    @given(arguments(ALL[path]))
    @settings(
        max_examples=5,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    def check(own: list[str]) -> None:
        answer = call_longlook(*path, *ALWAYS.get(path[0], ()), *own, cwd=alone)
        codes = (0, 1, 2, 3, *((130,) if "--git-bisect-exit" in own else ()))  # `git bisect run` ends on it alone
        assert answer.returncode in codes, (own, answer)
        assert "Traceback" not in answer.stderr
        if answer.returncode == 2:
            assert answer.stderr.startswith("longlook: ") or "Usage: " in answer.stderr, (own, answer)
            assert is_shown_safely(answer.stderr), (own, answer)

    check()


NO_NUMBERS = ("NaN", "1e400", "½", "", "0x10", "--")


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_what_is_no_number_is_refused(path: tuple[str, ...], alone: Path) -> None:
    options = [each for each in ALL[path].params if isinstance(each, TyperOption)]
    for each in options:
        for value in NO_NUMBERS if each.type_descriptor.annotation is int else ():
            answer = call_longlook(*path, f"{each.opts[0]}={value}", cwd=alone)
            assert answer.returncode == 2, (each.opts, value, answer)
