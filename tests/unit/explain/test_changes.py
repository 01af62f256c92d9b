"""Changes that can be made, and why others cannot."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core import registry
from longlook.core.model import Endpoint, Scalar, Trial
from longlook.core.stack import Version
from longlook.explain import changes
from longlook.explain.cause import Change
from tests.data.sides import side


def quic(stack: str, version: str, **knobs: Scalar) -> Trial:
    return replace(side().trial, protocol="h3", server=Endpoint(stack, version, knobs))


def tcp(**settings: Any) -> Trial:
    return replace(side().trial, protocol="h2", congestion_control="cubic", tcp=settings)


@pytest.mark.parametrize(
    ("trial", "value", "reason"),
    [
        (quic("quinn", "0.11.12"), 10, "server quinn@0.11.12 has initial_window 10 already"),
        (quic("quinn", "0.11.12", initial_window=20), 20, "server quinn@0.11.12 has initial_window 20 already"),
        (quic("quic-go", "0.65.0"), 32, "server quic-go@0.65.0 has initial_window 32 already"),
        (quic("aioquic", "1.3.0"), 10, "server aioquic@1.3.0 has initial_window 10 already"),
    ],
)
def test_a_value_that_a_program_has_set_or_unset_is_no_change(trial: Trial, value: int, reason: str) -> None:
    assert changes.knob(trial, "server", "initial_window", value, "a window") == reason


def test_another_value_is_a_change_of_the_build_that_can_be_tuned() -> None:
    made = changes.knob(quic("quic-go", "0.65.0"), "server", "initial_window", 10, "a window")
    assert made == Change("a window", {"server": "quic-go@0.65.0+knobs", "server_knobs.initial_window": 10})
    changed = quic("quinn", "0.11.12", initial_window=20)
    assert isinstance(changes.knob(changed, "server", "initial_window", 10, "a window"), Change)


def test_a_build_of_a_commit_is_not_exchanged_for_the_tunable_build_of_its_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = registry.stack("quic-go")
    commit = "0.65.0+00-4b653fe"
    built = replace(known, versions=(*known.versions, Version(commit, "")))
    monkeypatch.setattr(registry, "stack", lambda _name: built)
    reason = changes.knob(quic("quic-go", commit), "server", "initial_window", 10, "a window")
    assert isinstance(reason, str)
    assert reason.startswith(f"server quic-go@{commit} has no knob initial_window; it is a knob of ")
    assert "quic-go@0.65.0+knobs" in reason


def test_a_knob_that_needs_another_controller_is_refused_before_a_trial_runs() -> None:
    reason = changes.knob(quic("quinn", "0.11.12"), "server", "window_after_loss", 0.7, "a cut")
    only = "server quinn@0.11.12 has window_after_loss only with congestion_control reno"
    assert reason == f"{only}, and this arm has cubic"
    reno = quic("quinn", "0.11.12", congestion_control="reno")
    assert isinstance(changes.knob(reno, "server", "window_after_loss", 0.7, "a cut"), Change)


@pytest.mark.parametrize(
    ("trial", "settings", "already"),
    [
        (tcp(), {"tcp_initial_window": 10}, "TCP has tcp_initial_window 10 already"),
        (tcp(initial_window_packets=32), {"tcp_initial_window": 32}, "TCP has tcp_initial_window 32 already"),
        (tcp(), {"tcp_pacing": False}, "TCP has tcp_pacing off already"),
        (tcp(), {"tcp_receive_buffer": "65536KiB"}, "TCP has tcp_receive_buffer 65536KiB already"),
        (tcp(), {"congestion_control": "cubic"}, "TCP has congestion_control cubic already"),
        (tcp(initial_window_packets=32), {"tcp_initial_window": 10}, None),
        (tcp(), {"tcp_initial_window": 10, "tcp_pacing": True}, None),
        (tcp(), {"tcp_initial_window": "many"}, None),  # refused where the trial is planned, by the name of the setting
    ],
)
def test_a_setting_that_tcp_has_set_or_unset_is_no_change(
    trial: Trial, settings: dict[str, Scalar], already: str | None
) -> None:
    made = changes.kernel_tcp(trial, settings, "a setting")
    assert made == (Change("a setting", settings) if already is None else already)


def test_of_a_client_that_chooses_no_protocol_is_changed_alone() -> None:
    choosing = replace(tcp(), protocol="h3-or-h2", client=Endpoint("quic-go", "0.65.0"))
    assert changes.kernel_tcp(choosing, {"tcp_hystart": False}, "a setting") == changes.EITHER_WAY
    assert changes.tuned(choosing, "server", {"hystart": False}, {"tcp_hystart": False}, "both") == changes.EITHER_WAY
    tested = replace(side(), trial=choosing)
    assert changes.other_controllers(tested) == [changes.EITHER_WAY]
    assert isinstance(changes.other_version(tested, "client"), Change)
    assert isinstance(changes.knob(choosing, "client", "fallback_delay", 0.0, "at once"), Change)
