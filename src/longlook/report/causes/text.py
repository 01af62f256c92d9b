"""Answers in words: one sentence that can be pasted into a report of a fault, and Markdown for a pull request.

Only what a change of its mechanism confirmed follows a "because"; other changes say where, and the rest is suspected.
"""

from collections.abc import Iterator, Sequence

from longlook.core import Better, find_metric
from longlook.explain import Answer, Conclusion, Explained, Judged, Share, Status, closed_share_pct, direct, strongest
from longlook.report import wording
from longlook.report.causes.failing import failing_sentences
from longlook.report.causes.searched import not_varied, searched_markdown, seen
from longlook.report.machines.wording import counted
from longlook.report.text import escaped, markdown_rows
from longlook.report.wording import DASH, MINUS, NBSP

SHOWN_CAUSES = 3
"""How many confirmed causes the sentence names; it counts the others."""

LEAST_DOSES = 3
"""The number of values of a dose from which on a gap can be said to follow it."""

MOST_PCT = 50.0
"""Confirmed causes that close less of a gap than this are a part of why, not why."""

MORE_THAN_ALL_PCT = 110.0
"""A change that closes more than this does more than undo what differs between the arms."""

LEAST_PART_PCT = 5.0
"""The part of a gap from which on it is said that a change of both arms closed it by what it did to the winner."""

_LOADS = {"none": "loads without loss make", "one": "loads with one loss", "more": "loads with several losses"}

NOT_EXPLAINED = (Status.NO_GAP, Status.UNDECIDED, Status.FAILED)
"""States of an answer in which nobody asked why: there is no loser, or no trial to look at."""


def sentence(answer: Answer) -> str:
    """Return an answer in words: the line that says why, then who lost how much, how it was proven, what remains."""
    return " ".join((f"{wording.capital(line(answer))}.", *details(answer)))


def line(answer: Answer) -> str:
    """Return the answer in one short line: `because: smaller initial window (40 % of the gap)`.

    Only what a change of its mechanism confirmed follows "because"; "where" and "which end" are no reasons.
    """
    if answer.status in NOT_EXPLAINED:
        about = f" ({heading(answer)})" if heading(answer) else ""
        return f"{answer.reason}{about}"
    confirmed = [item for item in answer.findings if item.is_confirmed and not item.follows]
    placed = [item for item in answer.findings if item.is_placed]
    parts = []
    if confirmed:
        share_pct = closed_share_pct(answer.findings, answer.together) or 0.0
        named = [f"{wording.inner(item.title)}{_part(item)}" for item in confirmed[:SHOWN_CAUSES]]
        parts.append(
            f"{'because' if share_pct >= MOST_PCT else 'in part because'}: {'; '.join(named)}{_more(confirmed)}"
        )
    for conclusion, word in ((Conclusion.WHERE, "where"), (Conclusion.WHICH_END, "which end")):
        own = [item for item in placed if item.conclusion is conclusion]
        if own:
            titles = "; ".join(wording.inner(item.title) for item in own[:SHOWN_CAUSES])
            parts.append(f"{word}: {titles}{_more(own)}")
    if not confirmed and placed:
        parts.append("why is not confirmed")
    return "; ".join(parts) or _unknown(answer)


def _unknown(answer: Answer) -> str:
    if not answer.findings:
        return f"not explained: {answer.reason or 'no detector saw a cause'}"
    return "not explained: none of the suspected causes is confirmed"


def _part(item: Explained) -> str:
    best = item.best
    return "" if best is None or best.share is None else f" ({_points(best.share)} of the gap)"


def details(answer: Answer) -> list[str]:
    """Return the details below the line of a cell, in short sentences; nothing if nobody asked why."""
    failing = [text for arm in answer.failing for text in failing_sentences(answer, arm)]
    if answer.status in NOT_EXPLAINED:
        return failing
    confirmed = [item for item in answer.findings if item.is_confirmed]
    placed = [item for item in answer.findings if item.is_placed]
    found = [f"{_loss(answer)}.", *by_losses(answer)]
    found += [text for item in confirmed[:SHOWN_CAUSES] for text in proof(answer, item)]
    found += [text for item in placed[:SHOWN_CAUSES] for text in placing(answer, item)]
    if not answer.findings:
        found.append(f"No cause is suspected: {answer.reason or 'no detector saw one'}.")
    elif not confirmed and not placed:
        tried = ", ".join(f"{wording.inner(item.title)} ({item.conclusion})" for item in answer.findings)
        found.append(f"None of the suspected causes is confirmed: {tried}.")
    return [*found, *_rest(answer), *advantages(answer), *failing]


def by_losses(answer: Answer) -> list[str]:
    """Return how losses were treated, in sentences: which make the gap if they are integrated, else why they are not;
    nothing if the path loses no packet at random.
    """
    made = answer.integrated
    if made is None:
        why = answer.why_sampled
        return [f"Losses are drawn at random in each round: {why}."] if why else []
    known = [
        f"{_LOADS[part.stratum]} {wording.points(part.share_pct)}{NBSP}% ({_probability(part.probability)} of loads)"
        for part in made.parts
        if part.share_pct is not None
    ]
    found = ["Losses are integrated: the gap and each change are means over all loads, by the same patterns of losses."]
    return [*found, f"Of the gap, {', '.join(known)}."] if known else found


def single_losses(answer: Answer) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each of the dearest single losses: packet, how many loads lose it alone, what that costs the
    loser and the winner, and the part of the gap.
    """
    if answer.integrated is None:
        return []
    return [
        (
            single.packet,
            _probability(single.probability),
            _cost(single.loser_cost, answer.unit),
            _cost(single.winner_cost, answer.unit),
            DASH if single.share_pct is None else f"{single.share_pct:.1f}".replace("-", MINUS) + f"{NBSP}%",
        )
        for single in answer.integrated.singles
    ]


def _cost(cost: float | None, unit: str) -> str:
    return DASH if cost is None else wording.signed(cost, unit)


def _probability(share: float) -> str:
    return f"{100 * share:.2g}{NBSP}%"


def said(item: Explained) -> str:
    """Return what a finding says of the gap, in a sentence without a full stop, as far as trials went."""
    if item.is_confirmed:
        return wording.capital(item.sentence)
    if item.conclusion is Conclusion.WHICH_END:
        return f"What differs is at its {item.role}"
    if item.conclusion is Conclusion.WHERE:
        return f"The gap arises {item.where or f'where {item.sentence}'}"
    return f"Suspected: {'the gap arises ' if item.where == item.sentence else ''}{item.sentence}"


def advantages(answer: Answer) -> list[str]:
    """Return a sentence for each change that closes the gap by what it takes from the winner."""
    found = []
    for item in answer.findings:
        best = item.best
        if item.conclusion is Conclusion.ADVANTAGE and best is not None and best.share is not None:
            found.append(
                f"{wording.capital(made_in(best))} closes {share_text(best.share)} of the gap by making "
                f"{answer.winner_label} worse: that is an advantage of {answer.winner_label}, not what "
                f"{answer.loser_label} loses by."
            )
    return found


def heading(answer: Answer) -> str:
    """Return what an answer is about: `10Mbit · 1%: quic-go against quiche, page load time`; empty without arms."""
    if not answer.loser_label:
        return ""
    cell = f"{wording.listed_cell(answer.cell)}: " if answer.cell else ""
    return f"{cell}{answer.loser_label} against {answer.winner_label}, {metric_name(answer)}"


def metric_name(answer: Answer) -> str:
    """Return the metric's name for use inside a sentence."""
    return wording.inner(find_metric(answer.metric).label)


def proof(answer: Answer, item: Explained) -> list[str]:
    """Return a confirmed cause and how it was proven, in sentences: the changes of its mechanism, and what they do."""
    after = (
        f", as a consequence of {wording.inner(item.follows)}, without which its sign is gone" if item.follows else ""
    )
    found = [f"{wording.capital(item.sentence)}: {item.conclusion}{after}."]
    cure = strongest(direct(item.cures))
    if cure is not None and cure.conclusion is Conclusion.CONFIRMED and cure.share is not None:
        found.append(_closing(answer, cure))
    given = strongest(direct(item.transplants))
    if given is not None and given.conclusion is Conclusion.CONFIRMED and given.share is not None:
        found.append(_losing(answer, given))
    if item.monotone:
        found.append("The gap follows the dose.")
    return found


def placing(answer: Answer, item: Explained) -> list[str]:
    """Return where the gap arises, or at which end, how that was shown, and what is known of why, in sentences."""
    found, best = [f"{said(item)}."], item.best
    if best is not None and best.share is not None:
        found.append(_losing(answer, best) if best.target == "winner" else _closing(answer, best))
    if item.alike:
        found.append(f"Both arms have the same {item.alike} with the same settings, so that it is not what differs.")
    elif item.sentence != item.where:
        tested = item.direct
        verdict = "no change here tests that" if tested is None else f"the changes that test that are {tested}"
        found.append(f"Why is not confirmed: of {wording.inner(item.title)}, {verdict}.")
    return found


def _closing(answer: Answer, made: Judged) -> str:
    closing = f"{_closes(made.share)}{_by_winner(made, answer.winner_label)}{in_rounds(answer, made)}"
    return f"With {made_in(made)} {closing}."


def _losing(answer: Answer, made: Judged) -> str:
    share = made.share
    lost = "" if share is None else f"{_points(share)} of its lead{_interval(share)}"
    return f"{answer.winner_label} with {made.change} loses {lost}{in_rounds(answer, made)}."


def made_in(made: Judged) -> str:
    """Return a change in words, with the arms in which it was made if it was made in both."""
    return f"{made.change} for both arms" if made.target == "both" else made.change


def judged_text(made: Judged) -> str:
    """Return what a change closes of the gap, with the part of it that is the winner's getting worse, if it matters."""
    return f"{share_text(made.share)}{_by_winner(made, 'the winner')}"


def in_rounds(answer: Answer, made: Judged) -> str:
    """Return from how many rounds a share comes if it does not come from all; else nothing."""
    return f", from {made.rounds} of {answer.rounds} rounds" if made.rounds < answer.rounds else ""


def _by_winner(made: Judged, winner: str) -> str:
    part = made.winners_pct
    if part is None or abs(part) < LEAST_PART_PCT:
        return ""
    if part > 0:
        return f", {part:.0f}{NBSP}points of it because {winner} gets worse"
    return f", {-part:.0f}{NBSP}points less because {winner} gets better"


def share_text(share: Share | None) -> str:
    """Return a share of a gap with its interval: `71 % (65 to 77 %)`; an interval below 1 % has a decimal more."""
    if share is None:
        return DASH
    return f"{_points(share)}{f' ({_span(share)})' if _span(share) else ''}"


def dose_text(item: Explained) -> str:
    """Return whether the gap follows the dose of a finding."""
    if len(item.doses) < LEAST_DOSES:
        return f"{counted(len(item.doses), 'value')}, too few to say whether the gap follows the dose"
    return "the gap follows the dose" if item.monotone else "the gap does not follow the dose throughout"


def remainder(answer: Answer) -> Share | None:
    """Return the part of the gap that all confirmed changes together leave; below 0 if they reverse it."""
    share = answer.together.share if answer.together is not None else None
    if share is None:
        return None
    low = None if share.ci_high_pct is None else 100 - share.ci_high_pct
    high = None if share.ci_low_pct is None else 100 - share.ci_low_pct
    return Share(100 - share.share_pct, low, high)


def not_seen(answer: Answer) -> list[str]:
    """Return what could not be tested or observed, with the reason, a sentence each."""
    found = [f"{item.title}: {reason}" for item in answer.findings for reason in item.untestable]
    for item in answer.findings:
        found += [
            f"{item.title}, {made.change}: {made.failed}" for made in (*item.cures, *item.transplants) if made.failed
        ]
    said = {item.cause for item in answer.findings if item.untestable}
    found += [
        f"{cause.replace('_', ' ')}: suspected, and the budget left no trial for it"
        for cause in answer.left_out
        if cause not in said
    ]
    found += not_varied(answer)
    found += answer.implausible
    found += [f"{cause.replace('_', ' ')}: not asked, since {reason}" for cause, reason in answer.broken.items()]
    if answer.status in (Status.EXPLAINED, Status.UNEXPLAINED) and answer.ledger_ms is None:
        found.append("where the time went: no round has a ledger of both arms")
    for arm, classes in (answer.ledger_ms or {}).items():
        label = answer.loser_label if arm == answer.loser else answer.winner_label
        if lost_ms := classes.get("unexplained", 0.0):
            found.append(f"{label}: no rule says what {wording.quantity(lost_ms / 1e3, 's')} of the load went to")
    return found


def answers_markdown(answers: Sequence[Answer]) -> str:
    """Return answers as Markdown for a pull request, the commands that repeat them at the end of each."""
    if not answers:
        return "No cell has a verdict that an arm lost: there is nothing to explain.\n"
    return "\n".join("\n".join(_markdown(answer)) for answer in answers)


def _markdown(answer: Answer) -> Iterator[str]:
    yield f"### {escaped(heading(answer) or answer.cell_id)}\n"
    yield f"**{escaped(wording.capital(line(answer)))}.**\n"
    if below := details(answer):
        yield f"{escaped(' '.join(below))}\n"
    if answer.findings:
        header = ("suspected cause", "verdict", "change", "made in", "of the gap", "alone", "p adj", "seen in")
        yield markdown_rows(header, list(_rows(answer)), frozenset((4, 6, 7)))
    for item in answer.findings:
        if item.doses:
            values = "; ".join(f"{dose.change}: {wording.signed(dose.closed, dose.unit)}" for dose in item.doses)
            about = f"Dose of {wording.inner(item.title)}, by how much the arms get closer"
            yield f"{escaped(about)}: {escaped(values)} ({dose_text(item)}).\n"
    if answer.together is not None and answer.together.share is not None and len(answer.together.changes) > 1:
        changes = ", ".join(answer.together.changes)
        yield (
            f"All confirmed changes together ({escaped(changes)}) close {share_text(answer.together.share)} of "
            "the gap. Shares of single changes need not add up to it.\n"
        )
    if singles := single_losses(answer):
        loser, winner = answer.loser_label, answer.winner_label
        columns = ("the loss that costs most, alone", "of loads", f"{loser} takes", f"{winner} takes", "of the gap")
        yield markdown_rows(columns, singles, frozenset((1, 2, 3, 4)))
    yield from searched_markdown(answer)
    unseen = not_seen(answer)
    if unseen:
        yield "Not tested or not observed:\n"
        yield "".join(f"- {escaped(text)}.\n" for text in unseen)
    if answer.checked:
        yield f"Checked: {escaped('; '.join(answer.checked))}.\n"
    took = f" ({counted(answer.trials, 'counterfactual trial')})" if answer.trials else ""
    yield f"Repeat it{took}:\n"
    yield f"    {' '.join(answer.command.split())}\n"


def _rows(answer: Answer) -> Iterator[tuple[str, ...]]:
    for item in answer.findings:
        names = (item.title, str(item.conclusion))
        found = seen(answer, item)
        tested = [*item.cures, *item.transplants]
        if not tested:
            yield (*names, DASH, DASH, DASH, DASH, DASH, found)
        for number, made in enumerate(tested):
            first = number == 0
            yield (
                *(names if first else ("", "")),
                made.change,
                answer.target_label(made.target),
                f"{judged_text(made)}{in_rounds(answer, made)}",
                made.failed or str(made.conclusion),
                wording.p_value(made.p_adjusted),
                found if first else "",
            )


def _loss(answer: Answer) -> str:
    """Return who lost to whom, in what and by how much, with the conditions and the number of rounds."""
    metric = find_metric(answer.metric)
    kind = "medians of" if answer.integrated is None else "means over all loads,"
    rounds = f"{counted(answer.rounds, 'round')}"
    where = f"; {wording.listed_cell(answer.cell)}" if answer.cell else ""
    who = f"{answer.loser_label} loses to {answer.winner_label} in {metric_name(answer)}"
    loser, winner = answer.loser_level, answer.winner_level
    if loser is None or winner is None:
        return f"{who} ({rounds}{where})"
    values = f"{wording.quantity(loser, answer.unit)} instead of {wording.quantity(winner, answer.unit)}"
    lost = loser - winner if metric.better is Better.LOWER else winner - loser
    if lost <= 0:
        return f"{who} on average ({kind} {rounds}: {values}{where})"
    unit = "percentage points" if answer.unit == "%" else answer.unit
    relative = f", {wording.effect(answer.gap_pct)}" if answer.gap_pct is not None else ""
    span = wording.interval_pct(answer.gap_low_pct, answer.gap_high_pct)
    relative += f" ({span})" if relative and span != DASH else ""
    return f"{who} by {wording.quantity(lost, unit)} ({values}{relative}; {kind} {rounds}{where})"


def _closes(share: Share | None) -> str:
    if share is None:
        return "the gap is not known"
    if share.ci_low_pct is not None and share.ci_low_pct > 100:
        more = ", more than undoing what differs would close" if share.share_pct > MORE_THAN_ALL_PCT else ""
        return f"the gap turns round: {_points(share)} of it closes{_interval(share)}{more}"
    return f"the gap closes by {_points(share)}{_interval(share)}"


def _points(share: Share) -> str:
    return f"{_number(share, share.share_pct)}{NBSP}%"


def _interval(share: Share) -> str:
    """Return the interval for use inside brackets; empty if it has no bounds."""
    return f", interval {_span(share)}" if _span(share) else ""


def _span(share: Share) -> str:
    """Return the interval; empty if it has no bounds, or its ends read the same."""
    if share.ci_low_pct is None or share.ci_high_pct is None:
        return ""
    low, high = _number(share, share.ci_low_pct), _number(share, share.ci_high_pct)
    return f"{low} to {high}{NBSP}%" if low != high else ""


def _number(share: Share, value: float) -> str:
    low, high = share.ci_low_pct, share.ci_high_pct
    if low is None or high is None or high - low >= 1:
        return wording.points(value)
    return f"{round(value, 1) + 0.0:.1f}".replace("-", MINUS)


def _more(items: Sequence[Explained]) -> str:
    rest = len(items) - SHOWN_CAUSES
    return f"; and {rest} more" if rest > 0 else ""


def _rest(answer: Answer) -> list[str]:
    left = remainder(answer)
    several = sum(item.is_confirmed for item in answer.findings) > 1
    if left is None:
        return ["What these changes close together is not known."] if several else []
    if left.share_pct <= 0:
        return ["Together these changes close the whole gap."] if several else []
    return [f"Not explained: {_points(left)} of the gap{_interval(left)}."]
