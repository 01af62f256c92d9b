"""The values of an entry at a place that a document or a finding names, and the text of numbers that shows them.

A place is a list of words: the name or family of a contrast, levels of factors by their labels, an arm, a metric. It
selects estimates, or with an arm the medians of that arm. `FACTOR=LABEL`, `contrast=NAME`, `arm=NAME` and `metric=NAME`
say which one is meant if two have the same name. Several levels of one factor are alternatives; `10KB..1MB` are all
from one to the other, and an end that is left out is the first or the last; `*` stands for any text. A verdict selects
the estimates that have it. A word of WANTED says what is shown of an estimate instead of its effect.
"""

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal

from longlook.core import Better, Estimate, Verdict, nearest
from longlook.instruments.atlas.claims.entry import Entry
from longlook.metrics import find_metric

MINUS = "\u2212"
VERDICTS: Mapping[str, frozenset[Verdict]] = {
    "better": frozenset({Verdict.BETTER}),
    "worse": frozenset({Verdict.WORSE}),
    "equivalent": frozenset({Verdict.EQUIVALENT}),
    "inconclusive": frozenset({Verdict.INCONCLUSIVE}),
    "decided": frozenset({Verdict.BETTER, Verdict.WORSE}),
}
SIDES = ("baseline", "contender")
WANTED = (*SIDES, "p", "least", "most", "intervals", "published", "difference", "ratio")
"""SIDES are the arms' medians (means over all loads if losses are integrated), `p` the adjusted p. `least` and `most`
choose one of several values by its size. `intervals` are the outermost ends of several. `published` is the source's
effect of claims there. Values may come in pairs: then `difference` is the distance from the first to the second, in
points or a unit, and `ratio` is the second divided by the first."""

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ALSO = {"none": 0, "zero": 0, "once": 1, "twice": 2}
_NUMBER = (
    rf"(?:(?<![\w.,{MINUS}+])[+{MINUS}]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\b(?:{'|'.join((*WORDS, *ALSO))})\b)"
)
_UNIT = r"(?:[ \u00a0](?:%|points|times|ms|s/GB|s|µs|Mbit/s|KB|MB|B|stalls)(?![\w/]))"
_TOKEN = re.compile(rf"(?P<low>{_NUMBER})(?: to (?P<high>{_NUMBER}))?(?P<unit>{_UNIT})?", re.I)
_TIMES = {("s", "ms"): 3, ("s", "µs"): 6, ("ms", "s"): -3, ("s/GB", "s"): 0, ("%", "points"): 0}
_POWERS = _TIMES | {("B", "KB"): -3, ("B", "MB"): -6, ("KB", "MB"): -3}
"""By the unit of a value and the unit that is shown, the power of ten between them."""


class PlaceError(ValueError):
    """A place that selects nothing, or a text that cannot show its values; the message says which."""


def rounded(value: float, decimals: int, *, signed: bool = False) -> str:
    """Return a value with this number of decimals, rounded once from its shortest decimal text, ties to even.

    Thousands are separated, a minus is U+2212, and `signed` adds a plus. Zero has no sign.
    """
    exact = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    if exact == 0:
        return "0" if signed else f"{abs(exact):f}"
    return f"{MINUS if exact < 0 else '+' if signed else ''}{abs(exact):,f}"


@dataclass(frozen=True)
class EntryValue:
    """A number of an entry with its interval and its unit; None: unknown. `ratio` is an effect's ratio of the arms,
    None if the effect is a difference.
    """

    number: float | None
    low: float | None = None
    high: float | None = None
    unit: str = "%"
    is_effect: bool = False
    ratio: float | None = None

    def flipped(self) -> "EntryValue":
        """Return what is worse by as much."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, number=None if self.number is None else -self.number, low=low, high=high)


def _value(item: Estimate, side: str, *, p: bool) -> EntryValue:
    """Return the level of a side of an estimate, or its adjusted p, or its effect in its unit."""
    if side:
        return EntryValue(item.levels[SIDES.index(side)], unit=item.unit)
    if p:
        return EntryValue(item.p_adjusted, unit="")
    if item.difference is not None:
        return EntryValue(item.difference.value, item.difference.low, item.difference.high, item.difference.unit, True)
    ratio = None
    if item.effect_pct is not None:
        lower = find_metric(item.metric).better is Better.LOWER
        ratio = 1 - item.effect_pct / 100 if lower else 1 + item.effect_pct / 100
    return EntryValue(item.effect_pct, item.ci_low_pct, item.ci_high_pct, is_effect=True, ratio=ratio)


def _known(value: float | None) -> float:
    if value is None:
        raise PlaceError("the entry has no such number")
    return value


def _difference(first: EntryValue, second: EntryValue) -> EntryValue:
    return EntryValue(abs(_known(second.number) - _known(first.number)), unit=second.unit)


def _ratio(first: EntryValue, second: EntryValue) -> EntryValue:
    if not _known(first.number):
        raise PlaceError("a ratio to zero")
    ratio = _known(second.number) / _known(first.number)
    return EntryValue(100 * (ratio - 1), is_effect=True, ratio=ratio)


@dataclass(frozen=True)
class Place:
    """The part of an entry that a list of words selects; an empty set or None leaves that open."""

    entry: Entry
    levels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    contrasts: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    metric: str | None = None
    verdicts: frozenset[Verdict] = frozenset()
    wanted: tuple[str, ...] = ()

    def holds(self, cell: Mapping[str, str], *, exactly: bool = False) -> bool:
        """Return whether a cell has one of the levels of each factor, or all of them if it has fewer factors."""
        named = self.levels if exactly else {factor: self.levels[factor] for factor in self.levels.keys() & cell.keys()}
        return all(cell.get(factor) in labels for factor, labels in named.items())

    def estimates(self, *, any_verdict: bool = False) -> list[Estimate]:
        """Return the selected estimates, of all verdicts if asked: in the order of the contrasts that are named, then
        in the order of the entry."""
        found = [
            item
            for item in self.entry.estimates
            if self.holds(item.cell, exactly=True)
            and (not self.contrasts or item.contrast in self.contrasts)
            and self.metric in (None, item.metric)
            and (any_verdict or not self.verdicts or item.verdict in self.verdicts)
        ]
        return sorted(found, key=lambda item: self.contrasts.index(item.contrast)) if self.contrasts else found

    def values(self) -> list[EntryValue]:
        """Return the values that the place stands for, in the order of its arms and contrasts, then of the entry."""
        found = self._all()
        if not {"difference", "ratio"} & set(self.wanted):
            return found
        if len(found) % 2:
            raise PlaceError(f"{len(found)} values are no pairs")
        combined = _difference if "difference" in self.wanted else _ratio
        return [combined(first, second) for first, second in zip(found[::2], found[1::2], strict=True)]

    def _all(self) -> list[EntryValue]:
        if self.arms:
            return [value for arm in self.arms for value in self._medians(arm)]
        if "published" in self.wanted:
            return [
                EntryValue(claim.effect_pct, is_effect=True)
                for claim in self.entry.study.claims
                if claim.effect_pct is not None
                and (not self.contrasts or claim.contrast in self.contrasts)
                and self.holds(claim.cell)
            ]
        sides = [word for word in self.wanted if word in SIDES] or [""]
        return [_value(item, side, p="p" in self.wanted) for item in self.estimates() for side in sides]

    def _medians(self, wanted: str) -> list[EntryValue]:
        """Return the medians of an arm, one for each metric and cell."""
        found = {
            (level.metric, level.cell_id): EntryValue(level.median, level.low, level.high, level.unit)
            for level in self.entry.levels
            if level.arm == wanted and self.metric in (None, level.metric) and self.holds(level.cell, exactly=True)
        }
        for item in self.estimates():
            for arm, level in zip((item.baseline, item.contender), item.levels, strict=True):
                if arm == wanted:
                    found.setdefault((item.metric, item.cell_id), EntryValue(level, unit=item.unit))
        return list(found.values())


def place_of(entry: Entry, words: Sequence[str], scope: Sequence[str] = ()) -> Place:
    """Return the place that words name; PlaceError for one that is unknown or has two meanings.

    `scope` has words for what `words` leave open: levels of other factors, and a contrast, an arm or a metric if they
    name none.
    """
    kinds: dict[str, list[str]] = {}
    for group in (scope, words):
        named: dict[str, list[str]] = {}
        for word in group:
            kind, names = _meaning(entry, word)
            named.setdefault(kind, []).extend(names)
        kinds |= named
    special = {kind: kinds.pop(kind, []) for kind in ("contrast", "arm", "metric", "verdict", "wanted")}
    if len(special["metric"]) > 1:
        raise PlaceError(f"two metrics: {' and '.join(special['metric'])}")
    return Place(
        entry,
        {factor: frozenset(labels) for factor, labels in kinds.items()},
        tuple(special["contrast"]),
        tuple(special["arm"]),
        next(iter(special["metric"]), None),
        frozenset(Verdict(name) for name in special["verdict"]),
        tuple(special["wanted"]),
    )


def _meaning(entry: Entry, word: str) -> tuple[str, list[str]]:
    """Return what a word names: `verdict`, `wanted`, `contrast`, `arm`, `metric` or a factor; and the names of it."""
    if word in VERDICTS:
        return "verdict", [str(verdict) for verdict in VERDICTS[word]]
    if word in WANTED:
        return "wanted", [word]
    known = _names(entry)
    kind, equals, rest = word.partition("=")
    if equals and kind in known:
        known, word = {kind: known[kind]}, rest
    found = [(kind, names[word]) for kind, names in known.items() if word in names]
    if not found and ".." in word:
        first, _, last = word.partition("..")
        found = [
            (kind, list(names)[_index(names, first, 0) : _index(names, last, len(names) - 1) + 1])
            for kind, names in known.items()
            if kind not in ("contrast", "arm", "metric") and {first, last} - {""} <= names.keys()
        ]
    if not found and "*" in word:
        found = [(kind, matched) for kind, names in known.items() if (matched := fnmatch.filter(names, word))]
    if len(found) != 1:
        kinds = " and ".join(f"{kind}=" for kind, _ in found)
        all_names = [name for names in known.values() for name in names]
        reason = f"has the meanings {kinds}" if found else f"is nothing of it{nearest(word, all_names)}"
        raise PlaceError(f"{entry.study.id}: {word!r} {reason}")
    return found[0]


def _index(names: Mapping[str, Sequence[str]], name: str, default: int) -> int:
    return list(names).index(name) if name else default


def _names(entry: Entry) -> dict[str, dict[str, list[str]]]:
    """Return by kind what a word may be, each with the names that it stands for; levels in the order of the study."""
    contrasts = {item.contrast: [item.contrast] for item in entry.estimates}
    for contrast in entry.study.contrasts:
        if contrast.family and contrast.family not in {item.contrast for item in entry.estimates}:
            contrasts.setdefault(contrast.family, []).append(contrast.name)
    metrics = dict.fromkeys([*(item.metric for item in entry.estimates), *(item.metric for item in entry.levels)])
    known = {
        "contrast": contrasts,
        "arm": {arm.name: [arm.name] for arm in entry.study.arms},
        "metric": {metric: [metric] for metric in metrics},
    }
    for factor in entry.study.factors:
        known[factor.name] = {level.label: [level.label] for level in factor.levels}
    for cell in entry.cells.values():
        for name, label in cell.items():
            known.setdefault(name, {}).setdefault(label, [label])
    return known


@dataclass(frozen=True)
class Token:
    """A number or a span in a text: its place, its digits as shown, and the unit that follows it at once or later."""

    start: int
    end: int
    numbers: tuple[str, ...]
    unit: str

    @property
    def is_signed(self) -> bool:
        """Whether a number of it has a sign."""
        return any(number[0] in f"+{MINUS}" for number in self.numbers)

    @property
    def is_count(self) -> bool:
        """Whether it can be a number of cells."""
        return len(self.numbers) == 1 and not self.is_signed and not self.unit and "." not in self.numbers[0]


def tokens(text: str, *, words: bool = True) -> list[Token]:
    """Return the numbers and spans of a text in their order, also numbers in words if asked."""
    found: list[Token] = []
    unit = ""
    for match in reversed(list(_TOKEN.finditer(text))):
        unit = (match["unit"] or "").strip(" \u00a0") or unit
        numbers = tuple(filter(None, (match["low"], match["high"])))
        end = match.end("high") if match["high"] else match.end("low")
        if words or not numbers[0][-1].isalpha():
            found.append(Token(match.start(), end, numbers, unit))
    return found[::-1]


def shown(text: str, place: Place, *, words: bool = True) -> str:
    """Return a text with the numbers that a place gives instead of its own, as many decimals each.

    One value gives the text a number, a span for its interval, or both. Several values give as many of each in their
    order, one span from the least to the largest, or one number that shows them all. A text that is about a verdict
    and has no unit counts the estimates with it, as `N` or `N of M`. PlaceError if the numbers of the text do not fit.
    """
    parts = tokens(text, words=words)
    if not parts:
        raise PlaceError("the text has no number")
    counts = bool(place.verdicts) and all(token.is_count for token in parts)
    texts = _counts(parts, place) if counts else _values(parts, place)
    for token, new in reversed(list(zip(parts, texts, strict=True))):
        text = text[: token.start] + new + text[token.end :]
    return text


def _counts(parts: Sequence[Token], place: Place) -> list[str]:
    numbers = (len(place.estimates()), len(place.estimates(any_verdict=True)))
    if len(parts) > len(numbers):
        raise PlaceError("a count is one number, or `N of M`")
    return [_as_shown(token.numbers[0], value) for token, value in zip(parts, numbers, strict=False)]


def _values(parts: Sequence[Token], place: Place) -> list[str]:
    values = place.values()
    if not values:
        raise PlaceError("nothing is there")
    choose: dict[str, Callable[..., EntryValue]] = {"least": min, "most": max}
    for word in choose.keys() & set(place.wanted):
        values = [choose[word](values, key=lambda item: abs(_known(item.number)))]
    singles = [token for token in parts if len(token.numbers) == 1]
    spans = [token for token in parts if len(token.numbers) == 2]
    if len(values) > 1 and len(spans) == 1 and not singles:
        return [_range(spans[0], values, whole="intervals" in place.wanted)]
    if len(values) > 1 and len(singles) == 1 and not spans:
        found = {_as_shown(singles[0].numbers[0], _number(item, singles[0].unit)) for item in values}
        values = values[:1] if len(found) == 1 else values
    for kind in (singles, spans):
        if kind and len(kind) != len(values):
            raise PlaceError(f"{len(values)} values for {len(kind)} numbers")
    new: dict[int, str] = {}
    for number, item in enumerate(values):
        single, span = (kind[number] if kind else None for kind in (singles, spans))
        turned = item.flipped() if _is_flipped(item, single, span) else item
        if single is not None:
            text = _as_shown(single.numbers[0], _number(turned, single.unit), signed=single.is_signed)
            new[single.start] = text
        if span is not None:
            ends = (_in_unit(_known(end), item.unit, span.unit) for end in (turned.low, turned.high))
            new[span.start] = _span(span, *ends)
    return [new[token.start] for token in parts]


def _is_flipped(item: EntryValue, single: Token | None, span: Token | None) -> bool:
    """Return whether a text without signs says that the contender is worse, so that `30 % longer` is −30 %."""
    if not item.is_effect:
        return False
    if single is not None:
        return single.unit != "times" and not single.is_signed and _known(item.number) < 0
    return span is not None and not span.is_signed and _known(item.high) < 0


def _range(token: Token, values: Sequence[EntryValue], *, whole: bool) -> str:
    """Return the least and the largest of values, or of their intervals; without a sign if all have the same one."""
    if whole:
        ends = [_known(end) for item in values for end in (item.low, item.high)]
    else:
        ends = [_number(item, token.unit) for item in values]
    if all(item.is_effect for item in values) and not token.is_signed and max(ends) <= 0:
        ends = [-end for end in ends]
    return _span(token, min(ends), max(ends))


def _span(token: Token, low: float, high: float) -> str:
    return " to ".join(_as_shown(text, end) for text, end in zip(token.numbers, (low, high), strict=True))


def _number(item: EntryValue, unit: str) -> float:
    """Return a value in the unit that is shown; `times` is the ratio of the larger arm to the other."""
    if unit == "times":
        ratio = _known(item.ratio)
        return max(ratio, 1 / ratio)
    return _in_unit(_known(item.number), item.unit, unit)


def _in_unit(value: float, unit: str, shown_unit: str) -> float:
    """Return a value in the unit that is shown; its decimal text only moves its point."""
    if shown_unit in ("", unit):
        return value
    if (unit, shown_unit) not in _POWERS:
        raise PlaceError(f"the value is in {unit or 'no unit'}, not in {shown_unit}")
    return float(Decimal(repr(value)).scaleb(_POWERS[unit, shown_unit]))


def _as_shown(number: str, value: float, *, signed: bool = False) -> str:
    """Return a value as a number is written: in a word, or with its decimals and its sign."""
    if number[-1].isalpha():
        whole, word = rounded(value, 0), number.lower()
        if str(ALSO.get(word, WORDS.index(word) if word in WORDS else "")) == whole:
            return number
        new = WORDS[int(whole)] if whole.isdigit() and int(whole) < len(WORDS) else whole
        return new.capitalize() if number[0].isupper() else new
    return rounded(value, len(number.partition(".")[2]), signed=signed or number[0] == "+")
