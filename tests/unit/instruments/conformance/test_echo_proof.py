"""The proof of the knob that says whether an echo's datagrams may be fragmented."""

from longlook.instruments.conformance.checks import CheckStatus
from tests.data.conformance import seen
from tests.unit.instruments.conformance.test_proofs import judged


def test_a_datagram_that_may_not_be_fragmented_gets_no_answer_and_one_that_may_does() -> None:
    answered, silent = seen(client=[{"event": "echo", "t_answer_ns": 5}]), seen(client=[{"event": "echo"}])
    held = {"set": silent, "unset": answered, "kernel": answered}
    assert judged("dont_fragment", held).status is CheckStatus.PASSED
    assert judged("dont_fragment", held, "client").status is CheckStatus.PASSED
    assert judged("dont_fragment", {**held, "set": answered}).status is CheckStatus.FAILED
    assert judged("dont_fragment", {**held, "kernel": silent}).status is CheckStatus.FAILED
