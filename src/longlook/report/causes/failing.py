"""The common traits of an arm's failed trials, in words."""

from longlook.explain import Answer, FailedArm
from longlook.report import wording
from longlook.report.machines.wording import counted

SHOWN_SIGNS = 3
"""As many causes as a reader follows up."""


def failing_sentences(answer: Answer, arm: FailedArm) -> list[str]:
    """Return what trials of an arm that failed share, in sentences."""
    label = answer.loser_label if arm.arm == answer.loser else answer.winner_label
    found = [f"{label} failed in {arm.failed} of {counted(arm.trials, 'trial')}."]
    if arm.again:
        found.append(f"With traces, {arm.traced} of {counted(arm.again, 'trial')} failed again.")
    found += [f"{wording.capital(reason)} ({count} of {arm.traced})." for reason, count in arm.reasons.items()]
    shared = [fact for fact in arm.facts if fact.failing == arm.traced and (not arm.others or fact.others < arm.others)]
    if shared:
        texts = [f"{fact.text}{_beside(fact.others, arm.others)}" for fact in shared]
        found.append(f"In all of them: {'; '.join(texts)}.")
    if arm.signs:
        named = list(arm.signs.items())[:SHOWN_SIGNS]
        signs = ", ".join(f"{wording.inner(title)} ({count})" for title, count in named)
        found.append(f"They show signs of {signs}. No trial tests these: a load that failed has no value.")
    return found


def _beside(others: int, of: int) -> str:
    return f" (in the other arm, in {others} of {counted(of, 'good trial')})" if of else ""
