"""Lists the checks of one version of a stack, in the order in which they are shown."""

from collections.abc import Iterator

from longlook.core import EITHER, Knob
from longlook.instruments.conformance import tcp_settings
from longlook.instruments.conformance.basics import basics
from longlook.instruments.conformance.checks import Check, verdict
from longlook.instruments.conformance.proofs import PROOFS, proven_over
from longlook.instruments.conformance.proofs.ask import Ask
from longlook.instruments.conformance.subject import REFERENCE, Subject, ample_knobs, protocols_of, stack_of


def checks(subject: Subject) -> list[Check]:
    """Return the basic checks and a proof of each declared knob, for each role that has it.

    The reference also has checks of the settings of the kernel's TCP.
    """
    own = [*basics(subject), *knobs(subject)]
    return [*own, *tcp_settings.checks(REFERENCE, REFERENCE)] if subject.name == REFERENCE else own


def knobs(subject: Subject) -> Iterator[Check]:
    """Yield the proofs of all declared knobs; a knob without a proof gets a check that fails."""
    for role in subject.stack.end_roles:
        declared = subject.stack.knobs_of(subject.version, role)
        for name, knob in declared.items():
            for protocol in _spoken(subject, knob):
                peer = subject.other(role)
                ample = ample_knobs(peer, role, protocol)
                ask = Ask(name, knob, role, protocol, subject.end, peer, subject.witness, declared, ample)
                proof = PROOFS.get(name)
                if proof is None:
                    yield _unproven(ask, "there is no proof of this knob: add one to conformance/proofs")
                elif protocol not in proven_over(name):
                    known = ", ".join(proven_over(name))
                    why = f"its proof is for {known}: set `protocols` of its Knob, or add a proof for {protocol}"
                    yield _unproven(ask, why)
                else:
                    yield proof(ask)


def _spoken(subject: Subject, knob: Knob) -> list[str]:
    """Return the protocols for which a knob is declared and that the peer speaks too."""
    shared = [name for name in subject.stack.protocols_of(subject.version) if name in protocols_of(subject.peer)]
    both = all(stack_of(end).speaks(end.version, EITHER.name) for end in (subject.end, subject.peer))
    either = both and EITHER.name in knob.protocols
    return [*(protocol for protocol in shared if knob.applies_to(protocol)), *([EITHER.name] if either else [])]


def _unproven(ask: Ask, why: str) -> Check:
    return ask.check({}, lambda _seen: verdict(False, why))
