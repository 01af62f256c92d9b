"""The settings that a screening can vary for two arms: how they have them, and the change to another level. Pure.

Where the arms are known to differ in a setting, the loser gets the winner's value. Else both get the same other value,
which takes away whatever difference there is, also of values that stacks do not tell; and where the winner cannot have
it, the loser alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from longlook.core import registry, versions
from longlook.core.model import Scalar, Trial
from longlook.core.protocol import EITHER
from longlook.core.stack import Knob
from longlook.explain import changes, remedies
from longlook.explain.cause import Change, Target
from longlook.explain.pair import Pair
from longlook.explain.search import levels


@dataclass(frozen=True)
class ScreenedFactor:
    """A setting with two levels: as the arms have it, and with `change`.

    `sentence` says how the loser has it, or completes "The gap arises …" for one of the path.

    `transplant` gives the winner the loser's value, where that is set.
    """

    setting: str  # its key in a study file
    role: str  # server, client or path
    target: Target
    change: Change
    sentence: str
    transplant: Change | None = None


def factors(pair: Pair) -> list[ScreenedFactor]:
    """Return the settings that can be varied for two arms, those of the loser's own first, then those of the path."""
    return [item for item in (*_of_loser(pair), *_of_path(pair)) if isinstance(item, ScreenedFactor)]


def impossible(pair: Pair) -> list[str]:
    """Return the settings of the loser's programs that cannot be varied beside their other settings, and why."""
    return [item for item in _of_loser(pair) if isinstance(item, str)]


def _of_loser(pair: Pair) -> Iterator[ScreenedFactor | str]:
    """Yield those of the programs, and over TCP those of the kernel, too."""
    yield from _of_programs(pair)
    if not changes.over_quic(pair.loser.trial):
        yield from _of_tcp(pair)


def _of_programs(pair: Pair) -> Iterator[ScreenedFactor | str]:
    for name, level in levels.KNOBS.items():
        knob = _knob(pair.loser.trial, level.role, name)
        if knob is None:
            continue
        own, others = (_value(side.trial, level.role, name) for side in (pair.loser, pair.winner))
        taken = None if others is None else levels.within(knob, others)
        had = knob.usual if own is None else own
        value = taken if taken not in (None, own) else levels.admitted(knob, level.values(pair), had)
        if value is not None:
            yield from _knob_factor(pair, level.role, name, own, value, is_winners=value == others)


def _knob(trial: Trial, role: str, name: str) -> Knob | None:
    """Return a knob that an end of a trial has, or its tunable build, and that means something over its protocol.

    None where the client chooses the protocol: a change of one of the two could move the choice.
    """
    if trial.protocol == EITHER.name:
        return None
    end = changes.end_of(trial, role)
    stack = registry.stack(end.stack)
    for version in versions.with_knobs(end.version, stack.version_names):
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
    """Return the unit of a knob behind a space; empty where it has none, or is a ratio."""
    knob = _knob(trial, role, name)
    return "" if knob is None or knob.unit in (None, "ratio") else f" {knob.unit}"


def _of_tcp(pair: Pair) -> Iterator[ScreenedFactor | str]:
    for name, values in levels.TCP.items():
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
    for name, (stages, settings, label) in levels.PATH.items():
        if remedies.has_stage(pair.loser, *stages):
            state = f"in the {levels.PATH_WORDS[name]} of the path"
            yield ScreenedFactor(f"network.{name}", "path", Target.BOTH, changes.path(settings, label), state)


def joined(chosen: Sequence[ScreenedFactor]) -> Change:
    """Return the changes of some factors as one."""
    settings = {key: value for factor in chosen for key, value in factor.change.settings.items()}
    return Change(", ".join(factor.change.label for factor in chosen), settings)
