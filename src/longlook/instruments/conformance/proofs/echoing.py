"""Proofs of an echo: whether its datagrams may be fragmented."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Scalar, Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.proofs.ask import Ask

_NEVER = "set"
_WORKLOAD = Workload("echo", {"payload": "1480B", "tries": 2, "interval_s": 0.5})
"""With its headers larger than the interface's 1500 bytes: it leaves in fragments, or not at all."""


def dont_fragment(ask: Ask) -> Check:
    """See whether a datagram is answered that leaves its end in fragments alone: not with `set`, with all others.

    A test that tells `kernel` from `unset` needs a path that names its MTU (docs/results/middle.md).
    """

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        answered = {
            name: any(line.get("t_answer_ns") for line in found.events("client", "echo"))
            for name, found in seen.items()
        }
        text = "; ".join(f"{name}: {'answered' if came else 'no answer'}" for name, came in answered.items())
        held = all(came is (name != _NEVER) for name, came in answered.items())
        return verdict(held and all(found.ok for found in seen.values()), text)

    return ask.check({str(value): _want(ask, value) for value in ask.knob.choices}, judge)


def _want(ask: Ask, value: Scalar) -> Want:
    """Return a trial whose other end may answer in fragments."""
    want = ask.want({ask.name: value}, None, _WORKLOAD)
    if ask.role == "client":
        return replace(want, server=replace(want.server, knobs={ask.name: "kernel"}))
    return replace(want, client=replace(want.client, knobs={ask.name: "kernel"}))


PROOFS = {"dont_fragment": dont_fragment}
