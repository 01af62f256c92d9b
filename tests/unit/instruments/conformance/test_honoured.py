"""The knobs of a release in sources that are nearest to it: honoured, lost with the reason, or without effect to see.

The stack is made up, and so are its proofs; its sources, their patches and their builds are not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from longlook.core import codec, registry
from longlook.core.job import Program
from longlook.core.knobs import INITIAL_WINDOW, MAX_WINDOW, PACING
from longlook.core.stack import Stack
from longlook.instruments.conformance import runner
from longlook.instruments.conformance.checks import Check, CheckStatus, Honoured, KnobState, Report, verdict
from longlook.instruments.conformance.lone_server import lone_server
from longlook.instruments.conformance.proofs.ask import Ask
from longlook.instruments.conformance.show import report_table
from longlook.instruments.conformance.subject import subject
from tests.support.made_up_stack import add_stack

SOURCES = "a program\nwindow = 32\npacing\n"
PATCH = """--- a/program
+++ b/program
@@ -1,3 +1,3 @@
 a program
-window = 32
+window = WINDOW or 32
 pacing
"""
RELEASE = "2.0"
TUNABLE = f"{RELEASE}+knobs"


class Engine:
    """An engine of which nothing is asked."""

    name = "virtual"

    def setting(self) -> Mapping[str, str]:
        return {}


def shown_by_servers(ask: Ask) -> Check:
    return ask.without("a client sends nothing") if ask.role == "client" else ask.check({}, lambda _: verdict(True, ""))


def unseen(ask: Ask) -> Check:
    return ask.without("it decides nothing")


def written(ask: Ask) -> Check:
    """Demand what the knobs' patch writes, of the program that is asked about."""
    text = Path(registry.stack(ask.end.stack).program(ask.end.version).path).read_text()
    return ask.check({}, lambda _: verdict("WINDOW or 32\npacing" in text, "both values look alike"))


@pytest.fixture(autouse=True)
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """Put a stack in place whose release has `pacing`, and `initial_window` in its tunable build alone."""
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    add_stack(tmp_path / "plugin", monkeypatch, "made-up", [("1.0", "2025-01-01"), (TUNABLE, ""), (RELEASE, "")])
    (tmp_path / "knobs.patch").write_text(PATCH)
    real = registry.load
    known = dict(real("stacks"))
    plain = known["made-up"]
    patches = {TUNABLE: (tmp_path / "knobs.patch",), RELEASE: (tmp_path / "knobs.patch",)}
    known["made-up"] = stack = replace(
        plain,
        protocols=("h3",),
        knobs={
            "pacing": PACING,
            "initial_window": replace(INITIAL_WINDOW, since=TUNABLE, until=TUNABLE),
            "max_window": replace(MAX_WINDOW, until="1.0"),
        },
        from_sources=replace(
            plain.from_sources,
            is_built=lambda _tree: True,
            knob_patches=lambda version: patches.get(version, ()),
        ),
    )
    with monkeypatch.context() as patched:
        patched.setattr(registry, "load", lambda folder: known if folder == "stacks" else real(folder))
        patched.setattr(runner, "PROOFS", {"pacing": shown_by_servers, "max_window": unseen, "initial_window": written})
        patched.setattr(runner, "basics", lambda _subject: ())
        patched.setattr(runner, "lone_server", lambda *_all: ())
        yield stack
    registry.forget()


def checked(tmp_path: Path, text: str, said: str = "") -> Report:
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "program").write_text(text)
    part = f"made-up@{tree}{said}"
    return runner.check_subject(subject(part), Engine(), tmp_path / "out", lambda _text: None)  # type: ignore[arg-type]


def test_a_knob_of_the_tunable_build_is_proven_by_the_tunable_build_of_the_sources(tmp_path: Path) -> None:
    report = checked(tmp_path, SOURCES)
    assert report.honoured == (
        Honoured("initial_window", ("server", "client"), KnobState.HONOURED),
        Honoured("pacing", ("server",), KnobState.HONOURED),
    )
    assert not report.failed
    assert codec.decode(Report, codec.encode(report)) == report


def test_a_knob_whose_patch_does_not_fit_is_lost_and_the_sources_conform(tmp_path: Path) -> None:
    report = checked(tmp_path, SOURCES.replace("32", "64"))
    (lost,) = (row for row in report.honoured if row.state is KnobState.LOST)
    assert (lost.knob, lost.roles) == ("initial_window", ("server", "client"))
    assert lost.reason.endswith("knobs.patch does not apply: program: Hunk #1 FAILED at 1")
    assert report.honoured[0] == lost, "what is lost comes first"
    assert not report.failed


def test_a_knob_without_effect_in_the_sources_is_lost_and_the_check_fails(tmp_path: Path) -> None:
    (tmp_path / "knobs.patch").write_text(PATCH.replace("WINDOW or 32", "WINDOW"))
    report = checked(tmp_path, SOURCES)
    assert report.honoured[0] == Honoured(
        "initial_window", ("server", "client"), KnobState.LOST, "both values look alike"
    )
    assert [result.knob for result in report.failed] == ["initial_window", "initial_window"]


def test_a_tunable_build_that_cannot_be_built_says_so(tmp_path: Path) -> None:
    (tmp_path / "knobs.patch").write_text(PATCH.replace("WINDOW", "broken"))
    lost = checked(tmp_path, SOURCES).honoured[0]
    assert (lost.knob, lost.state) == ("initial_window", KnobState.LOST)
    assert "+knobs cannot be built: make failed with exit code 2" in lost.reason


def test_sources_near_a_version_without_a_tunable_build_have_its_own_knobs_alone(tmp_path: Path) -> None:
    report = checked(tmp_path, SOURCES, ",of=1.0")
    assert report.honoured == (
        Honoured("max_window", ("server", "client"), KnobState.UNSEEN, "it decides nothing"),
        Honoured("pacing", ("server",), KnobState.HONOURED),
    )


def test_a_release_has_no_such_table(tmp_path: Path) -> None:
    part = subject(f"made-up@{RELEASE}")
    report = runner.check_subject(part, Engine(), tmp_path / "out", lambda _text: None)  # type: ignore[arg-type]
    assert report.honoured == ()
    assert "honoured" not in codec.encode(report)
    assert "honoured" not in shown(report)


def shown(report: Report) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as capture:
        console.print(report_table(report))
    return capture.get()


def test_people_see_a_table_of_the_knobs_and_how_many_are_lost(tmp_path: Path) -> None:
    lost = shown(checked(tmp_path, SOURCES.replace("32", "64")))
    assert "1 of 2 knobs no longer honoured" in lost
    (row,) = (line for line in lost.splitlines() if "initial_window" in line)
    assert row.split()[1:6] == ["server,", "client", "no", "longer", "honoured"]
    assert "Hunk #1 FAILED at 1" in lost
    assert "none of 2 knobs is lost" in shown(checked(tmp_path, SOURCES))


def test_a_program_of_sources_is_started_in_trials_alone(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "program").write_text(SOURCES)
    of_sources = subject(f"made-up@{tmp_path / 'tree'}")
    found = list(lone_server(of_sources, Program("/nonexistent", ""), None))
    assert [(each.check, each.status) for each in found] == [("SIGTERM over h3 (server)", CheckStatus.NOT_APPLICABLE)]
