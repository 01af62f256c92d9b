"""A measurement of a site on a terminal, in a pipe, and as JSON lines."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from longlook.core import Estimate, Verdict
from longlook.instruments.measure.run import Intent
from longlook.instruments.measure.spec import UNKNOWN, MeasureSpec
from longlook.pipeline import Result
from longlook.terminal import Renderings

_WORDS = {
    Verdict.BETTER: "HTTP/3 is faster",
    Verdict.WORSE: "HTTP/3 is slower",
    Verdict.EQUIVALENT: "no difference that matters",
    Verdict.INCONCLUSIVE: "undecided",
}


def answer_shown(spec: MeasureSpec, result: Result) -> Renderings:
    """Return the answer for each network, and what is not known."""
    return Renderings(
        people=lambda: [*(_sentence(each) for each in result.estimates), UNKNOWN],
        lines=lambda: [{"event": "measured", **_data(spec, result)}],
    )


def intent_shown(plan: Intent) -> Renderings:
    """Return what a measurement would send."""
    return Renderings(people=lambda: list(_intent_lines(plan)), data=lambda: {**asdict(plan), "url": str(plan.url)})


def _sentence(estimate: Estimate) -> str:
    network = ", ".join(estimate.cell.values())
    if estimate.effect_pct is None or estimate.baseline_median is None or estimate.contender_median is None:
        return f"{network}: {_WORDS[estimate.verdict]}: {estimate.reason or 'too few rounds have both values'}"
    interval = f"95 % interval {estimate.ci_low_pct:+.1f} to {estimate.ci_high_pct:+.1f} %"
    medians = f"{1e3 * estimate.contender_median:.0f} ms instead of {1e3 * estimate.baseline_median:.0f} ms"
    why = f"; {estimate.reason}" if estimate.verdict is Verdict.INCONCLUSIVE and estimate.reason else ""
    return (
        f"{network}: {_WORDS[estimate.verdict]}: {medians}, {estimate.effect_pct:+.1f} % "
        f"({interval}, {estimate.n_pairs} rounds){why}"
    )


def _data(spec: MeasureSpec, result: Result) -> dict[str, Any]:
    return {
        "site": str(spec.url),
        "networks": [
            {
                "network": estimate.cell.get("network"),
                "verdict": estimate.verdict.value,
                "effect_pct": estimate.effect_pct,
                "interval_pct": [estimate.ci_low_pct, estimate.ci_high_pct],
                "h2_median_s": estimate.baseline_median,
                "h3_median_s": estimate.contender_median,
                "rounds": estimate.n_pairs,
                "reason": estimate.reason,
            }
            for estimate in result.estimates
        ],
        "unknown": UNKNOWN,
        "report": str(result.report),
    }


def _intent_lines(plan: Intent) -> Iterable[str]:
    yield f"{plan.url}, and no other host; names by {plan.resolver}; nothing was sent yet"
    yield f"  User-Agent: {plan.user_agent}"
    yield f"  at most {plan.requests} requests in {plan.trials} trials, {plan.handshakes} handshakes without a request"
    yield f"  at most {plan.names} queries to DNS"
    yield (
        f"  within the last hour: {plan.spent_requests} of {plan.most_requests} requests, "
        f"{plan.spent_bytes / 1e6:.1f} of {plan.most_bytes / 1e6:g} MB"
    )
