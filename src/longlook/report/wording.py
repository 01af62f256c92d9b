"""Numbers and verdicts for people: signs, units, symbols and whole sentences."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from longlook.analysis import Heterogeneity, WelchVerdict, known_direction, margin_in_unit, name_of
from longlook.core import (
    PUBLISHED,
    Agreement,
    Analysis,
    ArmLevel,
    Better,
    Claim,
    ClaimResult,
    Contrast,
    Estimate,
    ExpectedLevel,
    Study,
    Verdict,
)
from longlook.explain import Round
from longlook.report.content import MetricFacts, ReportContent, short_labels
from longlook.report.lost_arms import failed_always, failures
from longlook.study import columns, laws

SYMBOLS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.EQUIVALENT: "≈", Verdict.INCONCLUSIVE: "?"}
RESULT_SYMBOLS = {
    Agreement.SAME_SIZE: "✓",
    Agreement.OTHER_SIZE: "≠",
    Agreement.SAME_DIRECTION: "→",
    Agreement.NO_DIFFERENCE: "=",
    Agreement.WITHIN_BOUNDS: "∈",
    Agreement.CONTRADICTED: "✗",
    Agreement.OPEN: "?",
    Agreement.NOT_TESTABLE: "–",
    Agreement.NOT_RUN: "○",
}
CLIFF = "↕"
"""The mark of a cell whose effect differs by more than the margin across a setting that its rounds drew."""

DASH = "–"
NBSP = "\u00a0"
MINUS = "\u2212"


def result(found: Agreement, factor: float | None = None) -> str:
    """Return a result with its symbol, and how far other sizes differ: `≠ other size (factor 1.6)`."""
    return f"{RESULT_SYMBOLS[found]} {found}{factor_of(found, factor)}"


def factor_of(found: Agreement, factor: float | None) -> str:
    """Return the factor of another size in brackets; nothing for other results."""
    return f" (factor{NBSP}{number(factor, 2)})" if found is Agreement.OTHER_SIZE and factor is not None else ""


def number(value: float, digits: int = 3) -> str:
    """Return about `digits` significant digits, with thousands separated, never with an exponent."""
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        return f"{MINUS if value < 0 else ''}∞"
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if magnitude < -9:
        return "0"
    text = f"{value:,.{max(0, digits - 1 - magnitude)}f}"
    return text.replace("-", MINUS)


def points(value: float) -> str:
    """Return a percentage without its unit: whole from 10 on, one decimal below; without a plus."""
    if math.isinf(value) or math.isnan(value):
        return number(value)
    text = f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.1f}"
    return "0" if text in ("0.0", "-0.0") else text.replace("-", MINUS)


def effect(value: float | None) -> str:
    """Return an effect with its sign: `+45 %`, `−2,300 %`, `0 %`."""
    if value is None or math.isnan(value):
        return DASH
    text = points(value)
    return f"{'' if text == '0' or text.startswith(MINUS) else '+'}{text}{NBSP}%"


def effect_of(item: Estimate) -> str:
    """Return an effect with its sign and its unit: `+45 %`, `−0.3 stalls`, `+12 ms`."""
    found = item.effect
    return DASH if found is None else signed(found.value, found.unit)


def signed(value: float | None, unit: str) -> str:
    """Return an effect with its sign in its unit."""
    if unit == "%" or value is None:
        return effect(value)
    text = quantity(value, unit)
    return f"+{text}" if value > 0 else text


def interval_of(item: Estimate) -> str:
    """Return the interval of an effect in few letters: `42 to 48` of %, with the unit of a difference."""
    return interval_in_unit(item) if item.difference else interval(item.ci_low_pct, item.ci_high_pct)


def interval_in_unit(item: Estimate) -> str:
    """Return the interval of an effect with its unit: `42 to 48 %`, `0.1 to 0.4 stalls`."""
    found = item.effect
    return DASH if found is None else interval_with(found.low, found.high, found.unit)


def interval_with(low: float | None, high: float | None, unit: str) -> str:
    """Return an interval with its unit."""
    if unit == "%" or low is None or high is None:
        return interval_pct(low, high)
    largest = max(abs(low), abs(high))
    scaled, shown = _readable(largest, unit)
    factor = scaled / largest if largest else 1.0
    return f"{number(low * factor)} to {number(high * factor)}{NBSP}{shown}"


def margin_of(item: Estimate, analysis: Analysis) -> str:
    """Return the margin of equivalence of an estimate: `3 %`, `0.1 stalls`."""
    unit = "%" if item.effect is None else item.effect.unit
    return f"{margin_in_unit(item, analysis):g}{NBSP}{unit}"


def verdict(item: Estimate, analysis: Analysis, labels: Mapping[str, str]) -> str:
    """Return the verdict with its symbol: `▲ better`; if the direction of an effect is known and its size is below the
    margin, both: `≈ equivalent (better, below the margin)`; `? inconclusive (QUIC failed in all rounds)`.

    `labels` are of arms by name.
    """
    direction, lost = known_direction(item, analysis), [labels.get(name, name) for name in failed_always(item)]
    small = f" ({direction}, below the margin)" if direction else ""
    return f"{SYMBOLS[item.verdict]} {item.verdict}{small}{f' ({_listed(lost)} failed in all rounds)' if lost else ''}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval without unit: `42 to 48`."""
    if low is None or high is None:
        return DASH
    return f"{points(low)} to {points(high)}"


def interval_pct(low: float | None, high: float | None) -> str:
    """Return an interval in percent: `42 to 48 %`."""
    text = interval(low, high)
    return text if text == DASH else f"{text}{NBSP}%"


def percent(share: float) -> str:
    """Return a share in percent: `95 %`, `99.9 %`."""
    return f"{share * 100:g}{NBSP}%"


def p_value(value: float | None) -> str:
    """Return a p value as text: `0.012`, `< 0.0001`."""
    if value is None or math.isnan(value):
        return DASH
    if value < 0.0001:
        return "<" + NBSP + "0.0001"
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}"


def welch(found: WelchVerdict | None) -> str:
    """Return the verdict of Welch's test as text: `better, p < 0.0001`."""
    if found is None:
        return DASH
    p = p_value(found.p)
    return f"{found.verdict}, p{NBSP}{p if p.startswith('<') else f'={NBSP}{p}'}"


def quantity(value: float | None, unit: str) -> str:
    """Return a measured value in the most readable unit: `457 ms`, `9.61 Mbit/s`."""
    if value is None or math.isnan(value):
        return DASH
    scaled, shown = _readable(value, unit)
    return f"{number(scaled)}{NBSP}{shown}".rstrip(NBSP)


def level(found: ArmLevel | None) -> str:
    """Return the median of one arm as text."""
    return quantity(found.median, found.unit) if found is not None else DASH


def level_interval(found: ArmLevel | None) -> str:
    """Return the interval of one arm's median as text."""
    if found is None or found.low is None or found.high is None:
        return DASH
    low, high, unit = _bounds(found.low, found.high, found.unit)
    return f"{low} … {high}{NBSP}{unit}".rstrip(NBSP)


def level_bounds(found: ArmLevel) -> str:
    """Return the same in few letters, for use beside the median: `42 to 58`; empty without an interval."""
    if found.low is None or found.high is None:
        return ""
    low, high, _ = _bounds(found.low, found.high, found.unit)
    return f"{low}{NBSP}to{NBSP}{high}"


def _bounds(low: float, high: float, unit: str) -> tuple[str, str, str]:
    """Return both ends in the unit that is most readable for the upper one."""
    scaled, shown = _readable(high, unit)
    return number(low * (scaled / high if high else 1.0)), number(scaled), shown


def _readable(value: float, unit: str) -> tuple[float, str]:
    size = abs(value)
    if unit == "s" and 0 < size < 1:
        return (value * 1e3, "ms") if size >= 1e-3 else (value * 1e6, "µs")
    if unit in ("bit/s", "bps"):
        for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if size >= factor:
                return value / factor, f"{prefix}bit/s"
        return value, "bit/s"
    if unit == "B":
        for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
            if size >= factor:
                return value / factor, f"{prefix}B"
    return value, unit


def direction(better: Better) -> str:
    """Return the better direction in words: `lower is better`."""
    return f"{better} is better"


def inner(label: str) -> str:
    """Return a label for use inside a sentence: `Page load time` loses its capital, `CPU time` and `Jain's index`
    keep it.
    """
    is_name = label[1:2].isupper() or label.partition(" ")[0].endswith(("'s", "’s"))
    return label if is_name else label[:1].lower() + label[1:]


def between_levels(item: Heterogeneity, alpha: float) -> str:
    """Return whether the effect differs between the levels of a factor, in one sentence."""
    p_text = p_value(item.p_adjusted)
    p_part = f"p{NBSP}{p_text}" if p_text.startswith("<") else f"p = {p_text}"
    span = f"{signed(item.low, item.unit)} to {signed(item.high, item.unit)} in {item.cells} cells"
    if item.p_adjusted < alpha:
        return f"The effect differs between the levels of {item.factor} ({span}, {p_part})."
    return (
        f"The effect is not shown to differ between the levels of {item.factor} ({span}, {p_part}), "
        "even if verdicts do."
    )


def capital(text: str) -> str:
    """Return text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def conclusion(estimate: Estimate, content: ReportContent) -> str:
    """Return one cell's verdict as a sentence."""
    contender, baseline = content.short_label(estimate.contender), content.short_label(estimate.baseline)
    analysis = content.study.analysis
    span, evidence = interval_in_unit(estimate), effect_of(estimate)
    if span != DASH:
        evidence += f", {percent(analysis.confidence)} interval {span}"
    if content.study.stopping is not None:
        evidence += f", after {estimate.n_pairs} rounds"
    p_text = p_value(estimate.p_adjusted)
    p_part = f", adjusted p {p_text if p_text.startswith('<') else '= ' + p_text}" if p_text != DASH else ""
    sentence = {
        Verdict.BETTER: f"{contender} is better than {baseline}: {evidence}{p_part}.",
        Verdict.WORSE: f"{contender} is worse than {baseline}: {evidence}{p_part}.",
        Verdict.EQUIVALENT: f"{contender} and {baseline} are equivalent within ±{margin_of(estimate, analysis)}: "
        f"{evidence}.{_small(estimate, analysis, contender)}",
        Verdict.INCONCLUSIVE: f"Inconclusive: {evidence}{p_part}.",
    }[estimate.verdict]
    if estimate.effect is None:
        sentence = "Inconclusive: no effect can be computed."
    return f"{sentence} {_sentence(estimate.reason)}".strip()


def _small(item: Estimate, analysis: Analysis, contender: str) -> str:
    direction = known_direction(item, analysis)
    return "" if direction is None else f" {contender} is {direction}, by less than the margin."


def chosen_round(content: ReportContent, chosen: Round) -> str:
    """Return which round of a cell is shown, and why, in one sentence."""
    words = f"Round {chosen.number + 1}"
    if chosen.contrast is None:
        return f"{words} of {content.study.rounds}."
    arms = f"{content.short_label(chosen.contrast.contender)} against {content.short_label(chosen.contrast.baseline)}"
    metric = inner(content.facts(chosen.contrast.metric).label)
    share = signed(chosen.effect, chosen.unit)
    if chosen.of == 1:
        return f"{words}, the only one with a value on both arms: {share} on {metric}, {arms}."
    return (
        f"{words}: its effect of {share} on {metric}, {arms}, is the median of {chosen.of} rounds"
        f"{'' if chosen.of % 2 else ' (the lower of the two in the middle)'}."
    )


def published(claim: Claim) -> str:
    """Return a source's value: `+45 %`, `≤ −99 %` if its scale ended, `n.s.` if it found no difference.

    A number that is not the source's own has its origin behind it: `+72 % (derived)`.
    """
    if claim.expected is not None:
        return _published_level(claim.expected) + _origin(claim)
    if claim.direction is not None:
        return str(claim.direction)
    if claim.effect_pct is None:
        return "significant" if claim.significant else "n.s."
    shown = effect(claim.effect_pct)
    if claim.clipped_at_pct is not None and abs(claim.effect_pct) >= claim.clipped_at_pct:
        shown = f"{'≥' if claim.effect_pct > 0 else '≤'}{NBSP}{shown}"
    return f"{shown if claim.significant else f'{shown} n.s.'}{_origin(claim)}"


def _origin(claim: Claim) -> str:
    """Return in brackets whose number a claim states, if it is not the source's own."""
    return "" if claim.origin == PUBLISHED else f" ({claim.origin})"


def statement(claim: Claim, study: Study, metrics: Mapping[str, MetricFacts]) -> str:
    """Return a claim as a sentence made of its data: the arms, the metric, the amount, the cell."""
    where = f" ({listed_cell(claim.cell)})" if claim.cell else ""
    if claim.expected is not None:
        return f"{_level_statement(claim.expected, study, metrics)}{_origin(claim)}{where}."
    arms = short_labels(study)
    contrast = next((item for item in study.contrasts if item.name == claim.contrast), None)
    if contrast is None:
        return f"{claim.contrast}: {published(claim)}{where}."
    contender, baseline = arms.get(contrast.contender, ""), arms.get(contrast.baseline, "")
    metric = inner(metrics[contrast.metric].label) if contrast.metric in metrics else contrast.metric
    if not claim.significant:
        return f"{contender} and {baseline} do not differ significantly in {metric}{where}."
    if claim.effect_pct is None and claim.direction is None:
        return f"{contender} and {baseline} differ in {metric}, the source does not say which way{where}."
    better = claim.direction or (Verdict.BETTER if (claim.effect_pct or 0) > 0 else Verdict.WORSE)
    amount = ""
    if claim.effect_pct is not None:
        clipped = claim.clipped_at_pct is not None and abs(claim.effect_pct) >= claim.clipped_at_pct
        amount = f" by {points(abs(claim.effect_pct))}{NBSP}%{' or more' if clipped else ''}{_origin(claim)}"
    return f"{contender} is {better} than {baseline} in {metric}{amount}{where}."


def _level_statement(expected: ExpectedLevel, study: Study, metrics: Mapping[str, MetricFacts]) -> str:
    arm = short_labels(study).get(expected.arm, expected.arm)
    facts = metrics.get(expected.metric)
    metric, unit = (inner(facts.label), facts.unit) if facts else (expected.metric, "")
    if expected.below is not None:
        metric, unit = f"the share of the population with {metric} below {quantity(expected.below, unit)}", "%"
    if expected.published is not None:
        return f"{arm}: {metric} is {quantity(expected.published, unit)}"
    bounds = [("at least", expected.at_least), ("at most", expected.at_most)]
    shown = " and ".join(f"{words} {quantity(bound, unit)}" for words, bound in bounds if bound is not None)
    return f"{arm}: {metric} is {shown}" if shown else f"{arm}: {metric}"


def listed_cell(cell: Mapping[str, str]) -> str:
    """Return a cell's levels with their factors: `rate 10Mbit, size 5KB`."""
    return ", ".join(f"{name} {level}" for name, level in cell.items())


def _published_level(expected: ExpectedLevel) -> str:
    below = "" if expected.below is None else f" < {expected.below:g}, % of the population"
    named = f"{expected.arm}: {expected.metric.replace('_', ' ')}{below}"
    if expected.published is not None:
        return f"{named}{NBSP}{expected.published:g}"
    bounds = [("≥", expected.at_least), ("≤", expected.at_most)]
    return " ".join([named, *(f"{sign}{NBSP}{bound:g}" for sign, bound in bounds if bound is not None)])


def answer(content: ReportContent) -> list[str]:
    """Return the study's answer in plain words, a sentence or two per contrast, from counts of verdicts."""
    sentences = [_contrast_answer(content, contrast) for contrast in content.study.contrasts if not contrast.family]
    for family in dict.fromkeys(contrast.family for contrast in content.study.contrasts if contrast.family):
        sentences.append(_family_answer(content, family))
    if content.study.contrasts:
        sentences.append(scope(_drawn(content)))
    sentences += failures(content.study, content.estimates)
    if marked := sum(item.cliff is not None for item in content.estimates):
        sentences.append(
            f"{CLIFF} {_share(marked, len(content.estimates)).capitalize()} {'stands' if marked == 1 else 'stand'} on "
            "a cliff: inside the neighbourhood the effect differs by more than the margin."
        )
    if content.claims:
        sentences.append(_claims_answer(content.claims))
    if altered := len(content.manifest.get("altered", {})):
        sentences.append(
            f"{altered} {'trial is' if altered == 1 else 'trials are'} counted out, with files that are not as they "
            "were sealed: Validity names them."
        )
    return sentences


def _drawn(content: ReportContent) -> dict[str, str]:
    """Return the laws of the settings that any round drew: the order of requests is none of a page of one object.

    An entry of the atlas has no samples. The quantities of a path and a load are drawn in any case; of the rest nothing
    is said then.
    """
    names, samples = columns(content.study.around), content.samples
    if samples.empty:
        return {setting: law for setting, law in content.study.around.items() if setting in laws.QUANTITIES}
    return {
        setting: law
        for setting, law in content.study.around.items()
        if names[setting] in samples and samples[names[setting]].notna().any()
    }


def scope(around: Mapping[str, str]) -> str:
    """Return what better and worse speak of: the neighbourhood that rounds draw by these laws, or without any a
    point.
    """
    if not around:
        return "Better and worse speak of the exact point of each cell: around is none, so nothing near it was tried."
    widths: dict[str, list[str]] = {}
    others = []
    for setting, law in around.items():
        if setting in laws.QUANTITIES:
            widths.setdefault(laws.width_of(law), []).append(name_of(setting))
        else:
            others.append(name_of(setting))
    parts = [f"{_listed(names)} within ±{width.removesuffix('%')}{NBSP}%" for width, names in widths.items()]
    if others:
        parts.append(f"{_listed(others)} at random")
    return f"Better and worse speak of the neighbourhood of each cell: {'; '.join(parts)}."


def _contrast_answer(content: ReportContent, contrast: Contrast) -> str:
    estimates = content.estimates_of(contrast)
    contender, baseline = content.short_label(contrast.contender), content.short_label(contrast.baseline)
    metric = inner(content.facts(contrast.metric).label)
    if not estimates:
        return f"Nothing was measured yet for {contender} against {baseline} on {metric}."
    counts = Counter(item.verdict for item in estimates)
    if counts[Verdict.INCONCLUSIVE] == len(estimates):
        return (
            f"On {metric}, {contender} against {baseline} is inconclusive in {_share(len(estimates), len(estimates))}."
        )
    parts = [
        f"{words} {baseline} in {_share(counts[verdict], len(estimates))} ({_range(estimates, verdict)})"
        for verdict, words in ((Verdict.BETTER, "better than"), (Verdict.WORSE, "worse than"))
        if counts[verdict]
    ]
    if equivalent := counts[Verdict.EQUIVALENT]:
        parts.append(f"equivalent to {baseline} in {_share(equivalent, len(estimates))}")
    undecided = counts[Verdict.INCONCLUSIVE]
    tail = f" {undecided} {'cells are' if undecided > 1 else 'cell is'} inconclusive." if undecided else ""
    return f"On {metric}, {contender} is {_listed(parts)}.{tail}"


def _family_answer(content: ReportContent, family: str) -> str:
    """Return the answer of a family of contrasts in one sentence."""
    names = {contrast.name for contrast in content.study.contrasts if contrast.family == family}
    estimates = [item for item in content.estimates if item.contrast in names]
    counts = Counter(item.verdict for item in estimates)
    parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    many = f"{len(names)} {'contrast' if len(names) == 1 else 'contrasts'}"
    if not parts:
        return f"{family}: nothing was measured yet for {many}."
    return f"{family}: of {len(estimates)} comparisons in {many}, {_listed(parts)}."


def _share(count: int, total: int) -> str:
    if total == 1:
        return "the one cell"
    return f"all {total} cells" if count == total else f"{count} of {total} cells"


def _range(estimates: Sequence[Estimate], verdict: Verdict) -> str:
    found = [e.effect for e in estimates if e.verdict is verdict and e.effect is not None]
    if not found:
        return "by an unknown margin"
    spans = []
    for unit in dict.fromkeys(each.unit for each in found):
        values = [abs(each.value) for each in found if each.unit == unit]
        low, high = (signed(value, unit).removeprefix("+") for value in (min(values), max(values)))
        spans.append(f"by {high}" if low == high else f"by {low.removesuffix(f'{NBSP}{unit}')} to {high}")
    return _listed(spans)


def _claims_answer(claims: Sequence[ClaimResult]) -> str:
    counts = Counter(item.result for item in claims)
    left_out = counts.pop(Agreement.NOT_RUN, 0)
    if not counts:
        return f"{_about_left_out(left_out)}, so none is judged."
    outside = f" {_about_left_out(left_out)}." if left_out else ""
    if counts.total() == 1:
        about = " about a cell that was run" if left_out else ""
        return f"The one published claim{about}: {next(iter(counts))}.{outside}"
    parts = [f"{counts[found]} {found}" for found in Agreement if counts[found]]
    return f"Of {counts.total()} published claims: {', '.join(parts)}.{outside}"


def _about_left_out(count: int) -> str:
    one = "One published claim is about a cell that was left out"
    return one if count == 1 else f"{count} published claims are about cells that were left out"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _sentence(text: str | None) -> str:
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
