"""All detectors over all rounds: what is suspected, the strongest first. Pure.

A cause may be a plug-in of the user: whatever goes wrong in one costs that cause alone, and is said.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longlook.core import Trial, codec
from longlook.explain.cause import Cause, Finding, Intervention, Purpose, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts import DoubtError
from longlook.explain.pair import Pair

ENDS = ("server", "client")


def same_end(pair: Pair, role: str) -> bool:
    """Return whether both arms have the same program at an end, with the same settings, over the same protocol.

    Settings of the kernel's TCP are of both ends. A path is no end: False for any other role.
    """
    return role in ENDS and _end(pair.loser.trial, role) == _end(pair.winner.trial, role)


def _end(trial: Trial, role: str) -> tuple[object, ...]:
    end = trial.server if role == "server" else trial.client
    share = trial.client_cpu_share if role == "client" else None
    transport = trial.protocol, trial.connection, trial.congestion_control, dict(trial.tcp)
    return end, dict(end.knobs), trial.processors.get(role), share, *transport


LEAST_SHARE_OF_GAP = 0.05
"""A cause that could save less of the gap than this, on average over rounds, is not worth a trial."""


@dataclass(frozen=True)
class Suspected:
    """The findings in order of strength, then name. `broken` has the causes that could not be asked, and why."""

    findings: tuple[Finding, ...]
    broken: Mapping[str, str]


def suspect(
    pairs: Mapping[int, Pair], causes: Mapping[str, Cause], shares: Mapping[int, float] | None = None
) -> Suspected:
    """Return a finding for each cause that any load shows and that could matter.

    `pairs` are by the number of the load, and `shares` has the share of all loads that each stands for (None: they
    count alike). A cause matters if its mean strength is at least LEAST_SHARE_OF_GAP of the mean difference of
    the two loads' times. A cause whose detector or sentence raises an error is broken; the others are asked all the
    same. So is one that reads what a trace contradicts itself about.
    """
    part = shares or dict.fromkeys(pairs, 1 / max(len(pairs), 1))
    gap_ns = sum(part[at] * (pair.loser.load_ns - pair.winner.load_ns) for at, pair in pairs.items())
    found, broken = [], {}
    for name, cause in causes.items():
        try:
            finding = _finding(cause, pairs, shares or {})
        except DoubtError as error:
            broken[name] = str(error)
            continue
        except Exception as error:  # of a plug-in, which may raise anything
            broken[name] = f"its detector failed with {type(error).__name__}: {error}"
            continue
        if finding is not None and finding.strength_ns >= LEAST_SHARE_OF_GAP * abs(gap_ns):
            found.append(finding)
    return Suspected(tuple(sorted(found, key=lambda finding: (-finding.strength_ns, finding.cause))), broken)


def proposed(cause: Cause, finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return what a cause would change; what it cannot say, because its code raises an error, cannot be tested."""
    try:
        items = tuple(cause.interventions(finding, pair))
        for item in items:
            _check_intervention(item)
            _check_words(cause, item)
    except DoubtError as error:
        return (Untestable(Purpose.CURE, str(error)),)
    except Exception as error:  # of a plug-in, which may raise anything
        return (Untestable(Purpose.CURE, f"its interventions failed with {type(error).__name__}: {error}"),)
    return items


def _finding(cause: Cause, pairs: Mapping[int, Pair], shares: Mapping[int, float]) -> Finding | None:
    signs = {number: sign for number, pair in pairs.items() if (sign := _sign(cause, pair)) is not None}
    if not signs:
        return None
    arm = next(iter(pairs.values())).loser.trial.arm
    same = same_end(pairs[min(signs)], cause.role)
    finding = Finding(cause.name, arm, cause.role, signs, len(pairs), same, shares)
    cause.said_of(finding)
    return finding


def _sign(cause: Cause, pair: Pair) -> Sign | None:
    sign = cause.detect(pair)
    if sign is None:
        return None
    _expect(sign, Sign, "a sign")
    _expect(sign.strength_ns, int | np.integer, "strength_ns")
    _check_dose(sign.dose)
    return sign if sign.strength_ns > 0 else None


def _check_intervention(item: Any) -> None:
    """Raise TypeError or ValueError if an intervention is none, or cannot be written to a file."""
    _expect(item, Intervention | Untestable, "an intervention")
    if isinstance(item, Untestable):
        return
    _expect(item.kind, Purpose, "a kind of intervention")
    _expect(item.target, Target, "a target")
    _expect(item.touches, Touches, "what a change touches (Touches)")
    _check_dose(item.dose)
    _expect(item.change.label, str, "a label")
    for value in item.change.settings.values():
        _expect(value, str | int | float, "a setting")
    codec.canonical([item.change.settings, item.change.surgery])


def _check_words(cause: Cause, item: Intervention | Untestable) -> None:
    """Raise ValueError if a change can say no more than a place, and its cause has no words for that."""
    if item.touches is Touches.OCCASION and cause.says is Says.WHY and not cause.where:
        raise ValueError(
            "a change of the occasion says where the gap arises, and the cause has no words for it: `where`"
        )


def _check_dose(dose: Any) -> None:
    if dose is not None and not math.isfinite(dose):
        raise ValueError(f"the dose is {dose}")


def _expect(value: Any, kind: Any, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {what}")
