"""All detectors over all rounds: what is suspected, the strongest first. Pure."""

from collections.abc import Mapping

from longlook.explain.cause import Cause, Finding, Sign
from longlook.explain.side import Pair

LEAST_SHARE_OF_GAP = 0.05
"""A cause that could save less of the gap than this, on average over rounds, is not worth a trial."""


def suspect(pairs: Mapping[int, Pair], causes: Mapping[str, Cause]) -> list[Finding]:
    """Return a finding for each cause that any round shows and that could matter, in order of strength, then name.

    `pairs` are by round. A cause matters if its mean strength is at least LEAST_SHARE_OF_GAP of the mean difference of
    the two loads' times.
    """
    gap_ns = sum(pair.loser.load_ns - pair.winner.load_ns for pair in pairs.values()) / max(len(pairs), 1)
    found = []
    for cause in causes.values():
        signs = {number: sign for number, pair in pairs.items() if (sign := _sign(cause, pair)) is not None}
        if signs:
            arm = next(iter(pairs.values())).loser.trial.arm
            finding = Finding(cause.name, arm, cause.role, signs, len(pairs))
            if finding.strength_ns >= LEAST_SHARE_OF_GAP * abs(gap_ns):
                found.append(finding)
    return sorted(found, key=lambda finding: (-finding.strength_ns, finding.cause))


def _sign(cause: Cause, pair: Pair) -> Sign | None:
    sign = cause.detect(pair)
    return sign if sign is not None and sign.strength_ns > 0 else None
