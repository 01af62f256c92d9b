"""The variant of a shipped stack that adapters/example shows: it is built from both patches, which are in force."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.model import Endpoint
from longlook.core.paths import adapters_dir
from longlook.core.stack import Stack
from longlook.engines.choice import make_engine
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import transfer
from longlook.instruments.conformance.runner import run_wants
from longlook.provision.catalogue import stack_versions

ROOT = adapters_dir() / "example" / "variant"
RTT_S = 0.4


@pytest.fixture
def variant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(ROOT))
    registry.forget()
    yield registry.stack("small-window")
    registry.forget()


def test_the_page_shows_the_variant_as_it_is(variant: Stack) -> None:
    code = (ROOT / "stacks" / "small_window.py").read_text().partition('"""\n\n')[2]
    shown = (ROOT.parent / "README.md").read_text()
    assert "".join(f"    {line}" if line.strip() else line for line in code.splitlines(keepends=True)) in shown
    assert len([line for line in code.splitlines() if line]) <= 10


def test_a_variant_is_listed_with_the_knobs_of_its_version(variant: Stack) -> None:
    mine, base = stack_versions(["small-window"])[0], stack_versions(["quic-go@0.65.0"])[0]
    assert (mine.name, mine.knobs, mine.protocols) == ("small-window@0.65.0+small-window", base.knobs, base.protocols)


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_variant_is_built_and_both_of_its_patches_are_in_force(variant: Stack, tmp_path: Path) -> None:
    ends = [
        Endpoint(name, version) for name, version in (("small-window", variant.default_version), ("quic-go", "0.65.0"))
    ]
    wants = [Want("h3", path(20, RTT_S), transfer(200_000), end, ends[1]) for end in ends]
    with make_engine("virtual") as engine:
        found = run_wants(wants, engine, tmp_path / "run", lambda _text: None, use_cache=False)
    mine, base = (found[want.trial().id] for want in wants)
    assert isinstance(mine, Seen), mine
    assert isinstance(base, Seen), base
    assert mine.ok, mine.why
    assert [line["version"] for line in mine.events("server", "ready")] == ["0.65.0+small-window"]
    assert 10 <= wire.first_flight(mine.packets, RTT_S)[0] <= 18
    assert 32 <= wire.first_flight(base.packets, RTT_S)[0] <= 40
