"""The answer in words: what to do, for whom what changes, what is not known. Computes nothing but counts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from longlook.analysis import AnswerOfUsers, LevelOfUsers, Placing
from longlook.core import Effect, Verdict, find_metric
from longlook.instruments.decide.spec import FALLBACK_TIME, H3, PAGE_LOAD_TIME, QUIC_SHARE
from longlook.pipeline import UsersAnswered

NEVER = "never"
_SLOW = ("p95", "p99")
_LEFT_OUT_PCT = 2.0
"""The share of users without an answer above which the paragraph says so, beside the list of what is not known."""
_MORE_FAIL_PCT = 1.0
"""More failed loads of the contender, in % of all, that decide against it."""


class Advice(StrEnum):
    """The answer in a word, by the rule of `advise`."""

    YES = "yes"
    NO = "no"
    TRADE = "a trade"
    ALIKE = "no difference that matters"
    OPEN = "undecided"


@dataclass(frozen=True)
class Advised:
    """The advice of one answer, and the reason for it."""

    answer: AnswerOfUsers
    advice: Advice
    reason: str


def level(answer: AnswerOfUsers, name: str) -> LevelOfUsers:
    """Return a figure of an answer by its name."""
    return next(each for each in answer.levels if each.name == name)


def advise(answer: AnswerOfUsers) -> Advised:
    """Return the advice.

    The mean must be better by more than the margin of equivalence, with its whole interval if there is one. If so and
    neither p95 nor p99 is shown to be worse by more than that, it is a yes; if one of them is worse, a trade. If the
    mean is worse by more than the margin, or if one load of a hundred more fails, it is a no. If its interval is inside
    of the margin, there is no difference that matters.
    """
    margin = answer.margin_pct
    fails = answer.failed[1].value - answer.failed[0].value
    mean = level(answer, "mean").change
    if mean is None:
        return Advised(answer, Advice.OPEN, "too few loads of both arms ended")
    if fails > _MORE_FAIL_PCT:
        return Advised(answer, Advice.NO, f"{fails:.1f} more loads of a hundred fail")
    worse = [name for name in _SLOW if _is_worse(level(answer, name), margin)]
    return Advised(answer, *_by_mean(mean, " and ".join(worse), margin))


def _by_mean(mean: Effect, worse: str, margin: float) -> tuple[Advice, str]:
    low, high = (mean.value if bound is None else bound for bound in (mean.low, mean.high))
    if low > margin and not worse:
        return Advice.YES, "the mean is better, and neither p95 nor p99 is shown to be worse"
    if low > margin:
        return Advice.TRADE, f"the mean is better, but {worse} worse"
    if high < -margin:
        return Advice.NO, "the mean is worse"
    if low < -margin or high > margin:
        return Advice.OPEN, f"the mean changes by {_bound(low)} to {_bound(high)} %, on both sides of what matters"
    stays = f"the mean stays within {margin:g} %"
    return (Advice.TRADE, f"{stays}, but {worse} worse") if worse else (Advice.ALIKE, stays)


def _is_worse(item: LevelOfUsers, margin: float) -> bool:
    if not math.isfinite(item.contender.value):
        return math.isfinite(item.baseline.value)
    return item.change is not None and (item.change.value if item.change.high is None else item.change.high) < -margin


def main_answers(found: UsersAnswered, metric: str = PAGE_LOAD_TIME) -> list[AnswerOfUsers]:
    """Return the answers about one metric."""
    return [each for each in found.answers if each.metric == metric]


def paragraph(found: UsersAnswered, advised: Sequence[Advised]) -> list[str]:
    """Return the sentences for whoever asks: one group for each page, and who falls back."""
    sentences = []
    for each in advised:
        answer = each.answer
        about = f"For {_apart(answer.apart)}: " if len(advised) > 1 and answer.apart else ""
        sentences.append(f"{about}{_advice_text(each)}")
        answered_pct = (100 - answer.outside_pct) * (100 - answer.unmeasured_pct) / 100
        if 100 - answered_pct > _LEFT_OUT_PCT:
            sentences.append(f"That is for {answered_pct:.0f} % of the users; nothing was found of the others.")
        sentences.append(_who(answer))
        sentences.append(_how_much(answer))
    sentences += list(_fallback(found))
    return sentences


def _advice_text(each: Advised) -> str:
    text = {
        Advice.YES: "turn HTTP/3 on",
        Advice.NO: "leave HTTP/3 off",
        Advice.TRADE: "turning HTTP/3 on is a trade",
        Advice.ALIKE: "HTTP/3 makes no difference that matters",
        Advice.OPEN: "it is not decided",
    }[each.advice]
    return f"{text[0].upper()}{text[1:]}: {each.reason}."


def _who(answer: AnswerOfUsers) -> str:
    return (
        f"The page loads sooner for {share(answer.better)} of the users and later for {share(answer.worse)}, "
        f"by more than {answer.margin_pct:g} %; for the rest nothing changes that matters."
    )


def _how_much(answer: AnswerOfUsers) -> str:
    mean, slow, slowest = (level(answer, name) for name in ("mean", "p95", "p99"))
    parts = [
        f"{name} from {amount(each.baseline)} to {amount(each.contender)}"
        for name, each in (("the mean goes", mean), ("p95", slow), ("p99", slowest))
    ]
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _fallback(found: UsersAnswered) -> Iterator[str]:
    for at, _ in enumerate(found.placings[:1]):
        quic = found.means.get((H3, QUIC_SHARE, at))
        if quic is None:
            continue
        without = 100 - quic
        if without < 0.05:
            yield "Every load comes over QUIC."
            continue
        waited = found.means.get((H3, FALLBACK_TIME, at))
        after = f", after {1e3 * waited:.0f} ms on average" if waited is not None else ""
        yield f"{without:.1f} % of the objects come over TCP all the same: QUIC does not get through in time{after}."


def amount(effect: Effect) -> str:
    """Return a value in its unit as people say it, without its interval."""
    if math.isinf(effect.value):
        return NEVER
    if math.isnan(effect.value):
        return "–"
    if effect.unit == "s":
        return f"{1e3 * effect.value:.0f} ms" if abs(effect.value) < 1 else f"{effect.value:.2f} s"
    return f"{effect.value:.3g} {effect.unit}".strip()


def change(effect: Effect | None) -> str:
    """Return a change with its sign, and its interval if it has one."""
    value, interval = change_parts(effect)
    return f"{value} ({interval})" if interval else value


def change_parts(effect: Effect | None) -> tuple[str, str]:
    """Return a change with its sign, and its interval, which is empty if there is none."""
    if effect is None:
        return "–", ""
    value = f"{effect.value:+.1f} {effect.unit}".replace("-", "−")
    if effect.low is None or effect.high is None:
        return value, ""
    return value, f"{_bound(effect.low)} to {_bound(effect.high)}"


def _bound(value: float) -> str:
    return (f"{value:+.1f}" if math.isfinite(value) else "never").replace("-", "−")


def share(effect: Effect) -> str:
    """Return a share in %, and its interval if that is not a point."""
    text = f"{effect.value + 0.0:.1f} %"
    if effect.low is None or effect.high is None or f"{effect.low:.1f}" == f"{effect.high:.1f}":
        return text
    return f"{text} ({effect.low:.1f} to {effect.high:.1f})"


def is_of_loads(answer: AnswerOfUsers) -> bool:
    """Return whether an answer is about every load: not about fallbacks alone, nor about what carried objects."""
    return answer.metric not in (QUIC_SHARE, FALLBACK_TIME)


def _apart(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {label}" for name, label in labels.items())


def heading(answer: AnswerOfUsers) -> str:
    """Return the metric of an answer, and the levels to which it belongs."""
    label = find_metric(answer.metric).label
    return f"{label}, {_apart(answer.apart)}" if answer.apart else label


def not_known(found: UsersAnswered) -> list[str]:
    """Return what the answers do not cover, a sentence each: users outside, cells without loads, rough cells."""
    users = found.users
    sentences = list(users.notes)
    for placing in found.placings[:1]:
        sentences += list(_of_placing(placing))
    unmeasured = [each for each in main_answers(found) if each.unmeasured_pct > 0]
    for answer in unmeasured:
        sentences.append(
            f"{heading(answer)}: the cells of {answer.unmeasured_pct:.1f} % of the users have no load of both arms."
        )
    few = [cell for answer in main_answers(found) for cell in answer.cells if cell.verdict == Verdict.INCONCLUSIVE]
    if few:
        part = sum(cell.share_pct for cell in few) / max(len(main_answers(found)), 1)
        sentences.append(f"The cells of {part:.1f} % of the users are undecided by themselves.")
    for answer in main_answers(found):
        sentences += [note for note in answer.notes if note not in sentences]
    return sentences


def _of_placing(placing: Placing) -> Iterator[str]:
    if placing.outside > 0:
        reasons = "; ".join(f"{100 * part:.2g} %: {reason}" for reason, part in placing.reasons.items())
        yield f"No cell stands for {100 * placing.outside:.2g} % of the users, who are left out ({reasons})."
    for name, (middle, far) in placing.ratios.items():
        if far > 1:
            what = "round trip" if name == "rtt" else name
            factors = f"a factor of {middle:.2f} of their cell’s, 95 % within {far:.2f}"
            yield f"Half of the users have a {what} within {factors}."
    ways = ", ".join(f"{factor} {way}" for factor, way in placing.by.items() if way != "apart")
    yield f"How users got to their cells, by factor: {ways}."
