"""The datapath of live runs: noted with the machine, told where it is unusual, refused where there is none."""

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import MachineError
from longlook.engines.live import LiveEngine
from longlook.run.host_facts import facts_of_host


@pytest.mark.parametrize("path", ["packet", "tun", "offload"])
def test_a_manifest_notes_the_datapath(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("LONGLOOK_DATAPATH", path)
    assert facts_of_host()["live_datapath"] == path


def test_a_live_run_tells_of_another_datapath_than_the_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONGLOOK_DATAPATH", raising=False)
    assert LiveEngine().notes() == ()
    monkeypatch.setenv("LONGLOOK_DATAPATH", "offload")
    (note,) = LiveEngine().notes()
    assert "LONGLOOK_DATAPATH=offload" in note


def test_an_unknown_datapath_names_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("LONGLOOK_DATAPATH", "carrier-pigeon")
    with pytest.raises(MachineError, match="carrier-pigeon") as error:
        facts_of_host()
    assert error.value.hint == snapshot
