"""Which knobs of a release the user's own sources still honour, by the knobs' proofs.

Sources have the knobs of the version that they are nearest to. If that has a tunable build, its patches are applied to
a copy of the sources, and the proofs of its further knobs are about this copy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from longlook.core import Endpoint, find_tree, tunable_name
from longlook.instruments.conformance.checks import CheckResult, CheckStatus, Honoured, KnobState
from longlook.instruments.conformance.subject import Subject

_STATES = {
    CheckStatus.FAILED: KnobState.LOST,
    CheckStatus.PASSED: KnobState.HONOURED,
    CheckStatus.NOT_APPLICABLE: KnobState.UNSEEN,
}
"""The state of a knob by its proofs, one for each protocol: the first status that one of them has."""


def tunable_sources(subject: Subject) -> Subject | None:
    """Return the tunable build of sources as a subject of its own; None if there is none."""
    version = tunable_name(subject.version)
    if version == subject.version or find_tree(subject.stack.name, version) is None:
        return None
    end = Endpoint(subject.stack.name, version)
    return replace(subject, version=version, peer=end if subject.peer == subject.end else subject.peer)


def further_knobs(subject: Subject) -> Mapping[str, Collection[str]]:
    """Return, for each role of sources, the names of the knobs that their release has in its tunable build alone."""
    stack, of = subject.stack, subject.stack.version(subject.version).of
    if not of or (tunable := tunable_name(of)) not in stack.version_names:
        return {}
    return {role: stack.knobs_of(tunable, role).keys() - stack.knobs_of(of, role).keys() for role in stack.end_roles}


def honoured(subject: Subject, results: Iterable[CheckResult], untunable: str) -> tuple[Honoured, ...]:
    """Return the state of every knob of the release that sources are nearest to; () if they are a release themselves.

    `results` are the proofs. `untunable` says why the tunable build of the sources cannot be had; "" if it can be, or
    if the release has none. Knobs that are lost come first. Roles with the same state and reason stand together.
    Roles in which a knob has no effect to see are left out if another role shows its state.
    """
    if find_tree(subject.stack.name, subject.version) is None:
        return ()
    found: dict[tuple[KnobState, str, str], list[str]] = {}
    for knob, role, state, reason in (*_proven(results), *(_missing(subject, untunable) if untunable else ())):
        found.setdefault((state, knob, reason), []).append(role)
    order = list(KnobState)
    shown = {knob for state, knob, _ in found if state is not KnobState.UNSEEN}
    rows = (
        Honoured(knob, tuple(roles), state, reason)
        for (state, knob, reason), roles in found.items()
        if state is not KnobState.UNSEEN or knob not in shown
    )
    return tuple(sorted(rows, key=lambda row: (order.index(row.state), row.knob)))


def _proven(results: Iterable[CheckResult]) -> Iterator[tuple[str, str, KnobState, str]]:
    proofs: dict[tuple[str, str], list[CheckResult]] = {}
    for result in results:
        if result.knob is not None and result.role is not None:
            proofs.setdefault((result.knob, result.role), []).append(result)
    for (knob, role), own in proofs.items():
        decisive = min(own, key=lambda result: list(_STATES).index(result.status))
        state = _STATES[decisive.status]
        yield knob, role, state, "" if state is KnobState.HONOURED else decisive.seen


def _missing(subject: Subject, why: str) -> Iterator[tuple[str, str, KnobState, str]]:
    for role, names in further_knobs(subject).items():
        for name in sorted(names):
            yield name, role, KnobState.LOST, why
