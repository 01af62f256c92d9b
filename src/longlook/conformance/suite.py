"""Every check of one version of a stack, in the order in which they are shown."""

from collections.abc import Iterator

from longlook.conformance import Check, verdict
from longlook.conformance.basics import basics
from longlook.conformance.proofs import OVER_TCP, PROOFS
from longlook.conformance.proofs.ask import Ask
from longlook.conformance.subject import Subject, protocols_of
from longlook.stacks import Knob


def checks(subject: Subject) -> list[Check]:
    """The basic checks and a proof of each declared knob, for each role that has it."""
    return [*basics(subject), *knobs(subject)]


def knobs(subject: Subject) -> Iterator[Check]:
    """A knob without a proof fails: what nobody has seen to work is not claimed."""
    for role in subject.stack.roles:
        declared = subject.stack.knobs_of(subject.version, role)
        for name, knob in declared.items():
            for protocol in _spoken(subject, name, knob):
                ask = Ask(
                    name, knob, role, protocol, subject.end, subject.other(role), subject.witness, siblings=declared
                )
                proof = PROOFS.get(name)
                yield proof(ask) if proof else _unproven(ask)


def _spoken(subject: Subject, name: str, knob: Knob) -> list[str]:
    """The protocols over which a knob means something: as it says, else QUIC alone for QUIC's."""
    meant = knob.protocols or (None if name in OVER_TCP or name not in PROOFS else ("h3",))
    return [
        protocol
        for protocol in subject.stack.protocols_of(subject.version)
        if (meant is None or protocol in meant) and protocol in protocols_of(subject.peer)
    ]


def _unproven(ask: Ask) -> Check:
    return ask.check({}, lambda _seen: verdict(False, "there is no proof of this knob: add one to conformance/proofs"))
