"""The search beyond the suspicions of detectors, in words: the screening of settings, and the losses."""

from collections.abc import Iterator

from longlook.explain import Answer, Explained, FewestLosses, FoundBy
from longlook.report import wording
from longlook.report.machines.wording import counted
from longlook.report.text import escaped, markdown_rows

SHOWN_EFFECTS = 10
"""As many settings of a screening as a reader looks at; the page has all."""


def seen(answer: Answer, item: Explained) -> str:
    """Return by what a finding was suspected, and in how many rounds."""
    times = f"{item.seen_in} of {answer.rounds}"
    if answer.integrated is not None:
        share = "" if item.seen_pct is None else f" ({wording.points(item.seen_pct)}{wording.NBSP}% of loads)"
        times = f"{item.seen_in} of {counted(answer.integrated.loads, 'traced load')}{share}"
    return times if item.found_by is FoundBy.DETECTOR else f"by {item.found_by}, {times}"


def screening_sentence(answer: Answer) -> str:
    """Return which settings were screened and which of them moved the gap; empty if none was screened."""
    made = answer.screening
    if made is None:
        return ""
    if made.reason:
        return f"Settings were not screened: {made.reason}."
    moved = [effect.change for effect in made.effects if effect.is_suspected]
    found = f"the gap moves with {', '.join(moved)}" if moved else "none of them moves the gap"
    return (
        f"{counted(len(made.effects), 'setting')} varied in {made.runs} combinations, each in "
        f"{counted(made.rounds, 'round')} ({counted(made.trials, 'trial')}): {found}."
    )


def effect_rows(answer: Answer) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each setting of a screening: change, made in, by how much the arms get closer, p, suspected."""
    if answer.screening is None:
        return []
    return [
        (
            effect.change,
            answer.target_label(effect.target),
            wording.signed(effect.closed, effect.unit),
            wording.p_value(effect.p_adjusted),
            "suspected" if effect.is_suspected else "",
        )
        for effect in answer.screening.effects
    ]


def losses_sentence(answer: Answer) -> str:
    """Return the findings about single losses; empty if they were not searched."""
    made = answer.losses
    if made is None:
        return ""
    if made.reason:
        return f"No single losses stand out: {made.reason}."
    return (
        f"In {len(made.rounds)} of {counted(answer.rounds, 'round')} the gap hangs on a few losses "
        f"({counted(made.trials, 'trial')}):"
    )


def loss_lines(answer: Answer) -> list[str]:
    """Return a line for each round whose gap hangs on losses."""
    return [] if answer.losses is None else [_line(found) for found in answer.losses.rounds]


def _line(found: FewestLosses) -> str:
    bound = "" if found.is_minimal else "; there may be fewer, the trials were spent"
    return (
        f"round {found.round + 1}: {counted(found.fewest, 'packet')} of {found.dropped} that are lost, forgiven, "
        f"close {wording.points(found.closed_share_pct)}{wording.NBSP}% of its gap: {'; '.join(found.packets)}{bound}"
    )


def not_varied(answer: Answer) -> list[str]:
    """Return the settings that the screening had to leave out, with the reason."""
    return [] if answer.screening is None else [f"not screened: {text}" for text in answer.screening.left_out]


def searched_markdown(answer: Answer) -> Iterator[str]:
    """Yield the screening and the losses as Markdown; nothing if neither was searched."""
    if text := screening_sentence(answer):
        yield f"{escaped(text)}\n"
    rows = effect_rows(answer)
    if rows:
        header = ("setting", "changed in", "arms get closer by", "p adj", "")
        yield markdown_rows(header, rows[:SHOWN_EFFECTS], frozenset((2, 3)))
    if text := losses_sentence(answer):
        yield f"{escaped(text)}\n"
    if lines := loss_lines(answer):
        yield "".join(f"- {escaped(line)}.\n" for line in lines)
