"""What a guest's kernel says of an attack, and what becomes of the trial."""

from longlook.core.model import Outcome
from longlook.engines.virtual.break_out import attacks, judged
from tests.data.trials import run

CONSOLE = """longlook: trial 0
longlook: python[12] at 1700000000000000000 ns
longlook: trial 1

longlook: a [b] c[77] was ended by the kernel: it was in the stub
longlook: quic-go[80] was ended by the kernel: it moved the time beyond what the kernel has to do
longlook: trial 2
"""


def test_an_attack_is_that_of_the_trial_in_which_it_was_seen_and_the_first_counts() -> None:
    assert attacks(CONSOLE) == {1: "the guest's kernel ended the program a [b] c: it was in the stub"}
    assert attacks("Linux version 7.2\n") == {}


def test_a_trial_with_an_attack_has_failed_whatever_came_of_it_and_is_not_exact() -> None:
    before = run(exact=True)
    assert judged(before, None) is before
    after = judged(before, "the program x attacked")
    assert (after.outcome, after.reason, after.exact) == (Outcome.FAILED, "the program x attacked", False)
