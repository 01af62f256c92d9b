"""The settings that a screening can vary for two arms: how they have them, and the change to a second level. Pure.

If the arms are known to differ in a setting, the loser gets the winner's value. Else both get the same other value,
which takes away any difference, also of values that stacks do not tell. If the winner cannot have that value, the loser
alone gets it.

A second level is a value that cures of causes use, within the declared bounds. It is the value under which a rule of
the protocol limits least: no cap, more credit, short timers, losses that are declared late.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from longlook.core import EITHER, LARGEST_HTTP2_WINDOW, Knob, Scalar, Trial, registry
from longlook.explain import changes
from longlook.explain.cause import Change, Target
from longlook.explain.pair import Pair
from longlook.explain.signs import RANDOM_REASONS

_CREDIT_BYTES = 16 << 20
_BUFFER_BYTES = 64 << 20
_PACKETS = 10_000
_CONTROLLERS = ("bbr", "bbr2", "reno", "cubic")


@dataclass(frozen=True)
class SecondLevel:
    """The values to try for a knob, of which the first is taken that the arm does not have; and in which role."""

    role: str
    values: Callable[[Pair], tuple[Scalar, ...]]


def _of(role: str, *values: Scalar) -> tuple[SecondLevel]:
    return (SecondLevel(role, lambda _pair: values),)


def _round_trip_s(pair: Pair) -> tuple[Scalar, ...]:
    return (max(pair.loser.round_trip_ns, 1_000_000) / 1e9,)


KNOBS: Mapping[str, tuple[SecondLevel, ...]] = {
    "congestion_control": _of("server", *_CONTROLLERS),
    "max_window": _of("server", _PACKETS),
    "send_buffer": _of("server", _BUFFER_BYTES),
    "stream_send_buffer": _of("server", _BUFFER_BYTES),
    "initial_window": _of("server", 32, 10),
    "min_window": _of("server", 10),
    "initial_ssthresh": _of("server", _PACKETS),
    "hystart": _of("server", False, True),
    "pacing": _of("server", False, True),
    "pacing_burst": _of("server", 1, 10),
    "max_pacing_rate": _of("server", 10_000_000_000),
    "emulated_connections": _of("server", 4, 1),
    "window_after_loss": _of("server", 0.85, 0.7),
    "packet_threshold": _of("server", 50, 3),
    "time_threshold": _of("server", 4.0, 1.125),
    "adaptive_reordering": _of("server", True, False),
    "persistent_congestion_threshold": _of("server", 10, 3),
    "pto_factor": _of("server", 0.5, 1.0),
    "initial_rtt": (SecondLevel("server", _round_trip_s), SecondLevel("client", _round_trip_s)),
    "max_udp_payload": _of("server", 1472, 1200),
    "initial_packet_size": _of("server", 1452, 1200),
    "disable_pmtud": _of("server", True, False),
    "gso": _of("server", False, True),
    "ecn": _of("server", False, True),
    "retry": _of("server", False),
    "allow_0rtt": _of("server", True),
    "max_incoming_streams": _of("server", 1000, 100),
    "http2_stream_window": _of("client", LARGEST_HTTP2_WINDOW),
    "http2_connection_window": _of("client", LARGEST_HTTP2_WINDOW),
    "initial_stream_window": _of("client", _CREDIT_BYTES),
    "max_stream_window": _of("client", _CREDIT_BYTES),
    "initial_connection_window": _of("client", _CREDIT_BYTES),
    "max_connection_window": _of("client", _CREDIT_BYTES),
    "ack_threshold": _of("client", 2, 1),
    "max_ack_delay": _of("client", 0.005, 0.025),
}
"""Knob → its levels, at the end whose knob acts on a download: the sender's rules are the server's, credit and
acknowledgements the client's. A client that assumes too short a round trip repeats its first packets, which slows some
servers down. A design has room for the first MOST_FACTORS; knobs that cap a load altogether come
first.
"""

TCP: Mapping[str, tuple[Scalar, ...]] = {
    "congestion_control": ("bbr", "cubic"),
    "tcp_initial_window": (32, 10),
    "tcp_receive_buffer": ("64MiB",),
    "tcp_send_buffer": ("64MiB",),
    "tcp_pacing": (True, False),
    "tcp_idle_restart": (False,),
    "tcp_hystart": (False,),
    "tcp_window_after_loss": (0.85,),
    "tcp_initial_ssthresh": (100_000,),
    "tcp_reordering": (50,),
    "tcp_adaptive_reordering": (True,),
    "tcp_sack": (True,),
    "tcp_dsack": (True,),
    "tcp_tail_loss_probe": (True,),
    "tcp_rto_min": ("50ms",),
    "tcp_quickack": (True,),
    "tcp_timestamps": (True,),
    "tcp_mss": ("1460B",),
    "tcp_mtu_probing": (True,),
}
"""Setting of the kernel's TCP → its levels."""

PATH: Mapping[str, tuple[tuple[str, ...], Mapping[str, Scalar], str]] = {
    "loss": (RANDOM_REASONS, {"loss": "0%"}, "no random loss"),
    "jitter": (("jitter",), {"jitter": "0ms", "jitter_reorders": False}, "a constant delay"),
    "reorder": (("reorder",), {"reorder": "0%"}, "no reordering"),
    "queue": (("rate",), {"queue": "8bdp"}, "a queue of 8 BDP"),
}
"""Setting of the path → the stages that it changes, the change, and the change in words."""

PATH_WORDS: Mapping[str, str] = {
    "loss": "random losses",
    "jitter": "varying delay",
    "reorder": "reordering",
    "queue": "full queue",
}
"""Setting of the path → what the path does by it."""


def admitted(knob: Knob, values: tuple[Scalar, ...], own: Scalar | None) -> Scalar | None:
    """Return the first of some values that a knob takes and an arm does not have; None if it takes none of them.

    A number out of the knob's bounds becomes the bound.
    """
    for value in values:
        bounded = within(knob, value)
        if bounded is not None and bounded != own:
            return bounded
    return None


def within(knob: Knob, value: Scalar) -> Scalar | None:
    """Return a value as a knob takes it, at a bound if it is beyond; None if the knob does not have it."""
    if knob.choices:
        return value if value in knob.choices else None
    if knob.kind in (bool, str):
        return value if isinstance(value, knob.kind) else None
    if isinstance(value, bool | str):
        return None
    low = value if knob.minimum is None else max(value, knob.minimum)
    bounded = low if knob.maximum is None else min(low, knob.maximum)
    return knob.kind(bounded)


@dataclass(frozen=True)
class ScreenedFactor:
    """A setting with two levels: as the arms have it, and with `change`.

    `sentence` says how the loser has it, or completes "The gap arises …" for one of the path.

    `transplant` gives the winner the loser's value, if that is set.
    """

    setting: str  # its key in a study file
    role: str  # server, client or path
    target: Target
    change: Change
    sentence: str
    transplant: Change | None = None


def factors(pair: Pair) -> list[ScreenedFactor]:
    """Return the settings that can be varied for two arms, the loser's own first, then the path's."""
    return [item for item in (*_of_loser(pair), *_of_path(pair)) if isinstance(item, ScreenedFactor)]


def impossible(pair: Pair) -> list[str]:
    """Return the settings of the loser's programs that cannot be varied beside their other settings, and why."""
    return [item for item in _of_loser(pair) if isinstance(item, str)]


def _of_loser(pair: Pair) -> Iterator[ScreenedFactor | str]:
    """Yield the settings of the programs, and over TCP the kernel's, too."""
    yield from _of_programs(pair)
    if not changes.over_quic(pair.loser.trial):
        yield from _of_tcp(pair)


def _of_programs(pair: Pair) -> Iterator[ScreenedFactor | str]:
    for name, level in ((name, level) for name, levels in KNOBS.items() for level in levels):
        knob = _knob(pair.loser.trial, level.role, name)
        if knob is None:
            continue
        own, others = (_value(side.trial, level.role, name) for side in (pair.loser, pair.winner))
        taken = None if others is None else within(knob, others)
        had = knob.usual if own is None else own
        value = taken if taken not in (None, own) else admitted(knob, level.values(pair), had)
        if value is not None:
            yield from _knob_factor(pair, level.role, name, own, value, is_winners=value == others)


def _knob(trial: Trial, role: str, name: str) -> Knob | None:
    """Return a knob that an end of a trial has, or its tunable build, and that means something over its protocol.

    None if the client chooses the protocol: a change of one of the two could move the choice.
    """
    if trial.protocol == EITHER.name:
        return None
    end = changes.end_of(trial, role)
    stack = registry.stack(end.stack)
    for version in stack.with_knobs(end.version):
        knob = stack.knobs_of(version, role).get(name)
        if knob is not None and knob.applies_to(trial.protocol):
            return knob
    return None


def _value(trial: Trial, role: str, name: str) -> Scalar | None:
    """Return the value of a knob as far as it is known: as the arm sets it, else as the stack declares it."""
    knob = _knob(trial, role, name)
    return None if knob is None else changes.end_of(trial, role).knobs.get(name, knob.default)


def _knob_factor(
    pair: Pair, role: str, name: str, own: Scalar | None, value: Scalar, *, is_winners: bool
) -> Iterator[ScreenedFactor | str]:
    unit = _unit(pair.loser.trial, role, name)
    changed = changes.knob(pair.loser.trial, role, name, value, f"{name} {changes.shown(value)}{unit} of the {role}")
    if isinstance(changed, str):
        yield f"{role}_knobs.{name}: {changed}"
        return
    target = Target.LOSER
    if not is_winners and _knob(pair.winner.trial, role, name) is not None:
        same = changes.knob(pair.winner.trial, role, name, value, changed.label)
        target = Target.BOTH if same == changed else Target.LOSER
    transplant = None
    if own is not None and own != _value(pair.winner.trial, role, name) and _knob(pair.winner.trial, role, name):
        given = changes.knob(pair.winner.trial, role, name, own, f"{name} {changes.shown(own)}{unit} of the {role}")
        transplant = given if isinstance(given, Change) else None
    state = f"{name} of its {role} is {'at its default' if own is None else f'{changes.shown(own)}{unit}'}"
    yield ScreenedFactor(f"{role}_knobs.{name}", role, target, changed, state, transplant)


def _unit(trial: Trial, role: str, name: str) -> str:
    """Return the unit of a knob behind a space; empty if it has none, or is a ratio."""
    knob = _knob(trial, role, name)
    return "" if knob is None or knob.unit in (None, "ratio") else f" {knob.unit}"


def _of_tcp(pair: Pair) -> Iterator[ScreenedFactor | str]:
    for name, values in TCP.items():
        own = changes.tcp_value(pair.loser.trial, name)
        others = None if changes.over_quic(pair.winner.trial) else changes.tcp_value(pair.winner.trial, name)
        value = others if others not in (None, own) else next((value for value in values if value != own), None)
        if value is None or own is None:
            continue
        target = Target.BOTH if others is not None and value != others else Target.LOSER
        transplant = None
        if others not in (None, own):
            transplant = Change(f"{name} {changes.shown(own)}", {name: own})
        change = Change(f"{name} {changes.shown(value)}", {name: value})
        yield ScreenedFactor(name, "server", target, change, f"{name} is {changes.shown(own)}", transplant)


def _of_path(pair: Pair) -> Iterator[ScreenedFactor]:
    for name, (stages, settings, label) in PATH.items():
        if changes.has_stage(pair.loser, *stages):
            state = f"in the {PATH_WORDS[name]} of the path"
            yield ScreenedFactor(f"network.{name}", "path", Target.BOTH, changes.path(settings, label), state)


def joined(chosen: Sequence[ScreenedFactor]) -> Change:
    """Return the changes of some factors as one."""
    settings = {key: value for factor in chosen for key, value in factor.change.settings.items()}
    return Change(", ".join(factor.change.label for factor in chosen), settings)
