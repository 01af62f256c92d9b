"""Effects that pages show are those of the atlas's entries, each rounded once, with the verdicts beside them."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from longlook.core.model import Verdict
from longlook.core.results import Agreement, Estimate
from longlook.instruments.atlas.claims.entries import read_entry
from longlook.instruments.atlas.claims.entry import Entry
from longlook.report.wording import MINUS, NBSP, effect, interval, quantity
from tests.support.page_tables import BASELINE, LEVELS, RATES, SIZES, TABLES, Place, Table

DOCS = Path(__file__).parents[2] / "docs"
_EFFECT = re.compile(rf"(?:[+{MINUS}]\d[\d,.]*|\b0) %")
_INTERVAL = re.compile(rf"\(({MINUS}?[\d,.]+ to {MINUS}?[\d,.]+)\)")
_TIME = re.compile(r"[\d.]+ m?s\b")
_LEVEL = re.compile(r"([\d.]+) %")
_OPEN = ("undecided", "inconclusive", "open", "(?)")

PROXIES = ("17a", "18a")
"""Figures of proxies.md: tables of `published / ours`, with the mark of a claim that is not found with its size."""
MARKS = {Agreement.CONTRADICTED: " ✗", Agreement.OTHER_SIZE: " ≠", Agreement.OPEN: " ?"}


@cache
def entry(study: str) -> Entry:
    """Return a study's entry."""
    return read_entry(DOCS / "data" / "entries" / f"{study}.json")


def estimate(study: str, place: Place) -> Estimate:
    """Return the one estimate at a place."""
    levels = {factor: label for factor, label in place.items() if factor not in ("contrast", "arm")}
    found = [
        item
        for item in entry(study).estimates
        if item.contrast == place.get("contrast", item.contrast) and levels.items() <= item.cell.items()
    ]
    assert len(found) == 1, f"{study}: {len(found)} estimates at {dict(place)}"
    return found[0]


def rows(document: str, begins: str, after: str = "") -> Iterator[list[str]]:
    """Yield the cells of the one table of a document whose first line begins so; of the first after a text, if any."""
    text = (DOCS / document).read_text(encoding="utf-8")
    assert not after or text.count(after) == 1, f"{document}: {after!r} is there {text.count(after)} times"
    lines = (text.split(after)[1] if after else text).splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(begins)]
    assert starts if after else len(starts) == 1, f"{document}: {len(starts)} tables begin with {begins!r}"
    for line in lines[starts[0] + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def cells(table: Table) -> Iterator[tuple[str, Place, str]]:
    """Yield the row, the place and the text of each cell of a table; each of its rows has to be there."""
    missing = set(table.rows)
    for row in rows(table.document, table.begins, table.after):
        behind = len(row) - len(table.columns)
        label = " | ".join(row[:behind]).replace("*", "")
        if label not in table.rows:
            continue
        missing.discard(label)
        for column, text in zip(table.columns, row[behind:], strict=True):
            if column is not None:
                yield label, {**table.rows[label], **column}, text
    assert not missing, missing


def fault(text: str, found: Estimate, place: Place, *, words: bool) -> str | None:
    """Return what a cell of a page should say, or None where it says it."""
    if not text:
        return None
    time = _TIME.match(text)
    median = found.baseline_median if place.get("arm") == BASELINE else found.contender_median
    if time is not None and time[0] != plain(quantity(median, found.unit)):
        return plain(quantity(median, found.unit))
    if time is not None and time[0] == text:
        return None
    shown, expected = _EFFECT.search(text), plain(effect(found.effect_pct))
    if shown is None or shown[0] != expected:
        return expected
    between, range_ = _INTERVAL.search(text), plain(interval(found.ci_low_pct, found.ci_high_pct))
    if between is not None and between[1] != range_:
        return range_
    said = Verdict.INCONCLUSIVE if any(word in text for word in _OPEN) else None
    said = Verdict.EQUIVALENT if "equivalent" in text else said
    decided = found.verdict in (Verdict.BETTER, Verdict.WORSE)
    return str(found.verdict) if said not in (None, found.verdict) or (words and said is None and not decided) else None


def plain(text: str) -> str:
    """Return a text with spaces that may break, as documents have them."""
    return text.replace(NBSP, " ")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.document}-{table.study}")
def test_effects_in_tables_are_those_of_their_entries(table: Table) -> None:
    faults = [
        f"{label}, {dict(place)}: {text!r} should be {wrong}"
        for label, place, text in cells(table)
        if (wrong := fault(text, estimate(table.study, place), place, words=table.words))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("table", LEVELS, ids=lambda table: f"{table.document}-{table.study}")
def test_medians_in_tables_are_those_of_their_entries(table: Table) -> None:
    faults = []
    for label, place, text in cells(table):
        levels = {factor: value for factor, value in place.items() if factor not in ("arm", "metric")}
        (found,) = (
            level
            for level in entry(table.study).levels
            if (level.arm, level.metric) == (place["arm"], place["metric"]) and levels.items() <= level.cell.items()
        )
        shown = _LEVEL.match(text.replace("*", ""))
        assert found.median is not None and shown is not None, text
        decimals = len(shown[1].partition(".")[2])
        if shown[1] != f"{found.median:.{decimals}f}":
            faults.append(f"{label}, {dict(place)}: {text!r} should be {found.median:.{decimals}f}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("figure", PROXIES)
def test_tables_of_proxies_show_the_claims_and_what_was_found(figure: str) -> None:
    results = {
        (item.claim.cell["rate"], item.claim.cell["size"]): item
        for item in entry(f"kakhki2017-fig{figure}").claim_results()
    }
    faults = []
    for row in rows("results/proxies.md", "| rate |", f"(fig. {figure}"):
        rate = RATES[row[0]]["rate"]
        for size, text in zip(SIZES, row[1:], strict=True):
            item = results.pop((rate, size["size"]))
            published, ours = item.claim.effect_pct, item.estimate
            assert ours is not None
            first = "n.s." if published is None or not item.claim.significant else f"{published:+.0f}"
            whole = f"{first} / {effect(ours.effect_pct)[:-2]}{MARKS.get(item.result, '')}".replace("-", MINUS)
            if text != whole:
                faults.append(f"{row[0]}, {size['size']}: {text!r} should be {whole!r}")
    assert not results and not faults, "\n".join(faults)


Value = Callable[[str], str]


def signed(**place: str) -> Value:
    """Return what gives the effect at a place of a study, as `−844 %`."""
    return lambda study: effect(estimate(study, place).effect_pct)


def unsigned(**place: str) -> Value:
    """Return what gives the size of an effect, as `29`."""
    return lambda study: effect(estimate(study, place).effect_pct).strip(f"+{MINUS}%{NBSP}")


def within(**place: str) -> Value:
    """Return what gives the interval of an effect, as `−13 to 6.7`."""
    return lambda study: interval(estimate(study, place).ci_low_pct, estimate(study, place).ci_high_pct)


def spread(**place: str) -> Value:
    """Return what gives the least and the largest effect of all cells at a place, as `31 to 33`."""

    def found(study: str) -> str:
        effects = [item.effect_pct for item in entry(study).estimates if place.items() <= item.cell.items()]
        return interval(min(filter(None, effects)), max(filter(None, effects)))

    return found


LOSSES = ("50th (0 %)", "80th (2 %)", "90th (8 %)", "95th (18 %)")
LARGER = {"contrast": "larger window: 2000 vs 430", "rate": "10Mbit", "size": "500KB"}
RECOVERY = {"contrast": "recovery: fixed vs adaptive"}
IDLE = {"contrast": "window kept vs restart", "queue": "0.25bdp"}
TWO = {"contrast": "two vs one", "fragment": "500KB"}
TWO_QUIC = {"contrast": "two vs one, QUIC", "fragment": "500KB"}
ALIKE = {"contrast": "window share: Cubic for one vs tcp", "against": "1 TCP", "length": "100s"}
SHORT_QUEUE = {"bandwidth": "50-150 Mbit/s", "queue": "0.1bdp"}
DSACK = "tcp without dsack"
ONE_PACKET = "share: one packet at a time vs bursts of 10"
GOOGLES = "share: Google's vs quic-go with bursts of 10"
SENTENCES: Sequence[tuple[str, str, str, Sequence[Value]]] = (
    ("results/papers.md", "kakhki2017-fig7", "{} % for 5 KB, where the paper had", [spread(size="5KB")]),
    ("results/papers.md", "kakhki2017-fig15", "(500 KB at 10 Mbit/s, {} %)", [within(**LARGER)]),
    (
        "results/papers.md",
        "langley2017-fig10",
        "ten objects of 10 KB gain {}, {}, {} and {} %",
        [unsigned(transfer="10KBx10", percentile=loss) for loss in LOSSES],
    ),
    (
        "results/papers.md",
        "langley2017-table3",
        "at 5 Mbit/s {} % ({}), {} % ({}) and {} % ({}).",
        [
            value(country=country, rate="5Mbit")
            for country in ("South Korea", "USA", "India")
            for value in (unsigned, within)
        ],
    ),
    (
        "results/kakhki2017.md",
        "kakhki2017-jitter-recovery",
        "({} and {} at 10 and 50 Mbit/s). Nearly",
        [signed(**RECOVERY, delay="jitter", rate=rate) for rate in ("10Mbit", "50Mbit")],
    ),
    (
        "results/kakhki2017.md",
        "kakhki2017-jitter-recovery",
        "time in recovery is undecided ({} and {} %)",
        [within(**RECOVERY, delay="stable", rate=rate) for rate in ("10Mbit", "50Mbit")],
    ),
    (
        "results/papers.md",
        "langley2017-quiescence",
        "With a quarter it is undecided ({} and {} %)",
        [within(**IDLE, idle=idle) for idle in ("1s", "10s")],
    ),
    (
        "results/papers.md",
        "langley2017-two-connections",
        "by {} % over TCP with 2 % loss",
        [unsigned(**TWO, loss="2%")],
    ),
    (
        "results/papers.md",
        "langley2017-two-connections",
        "by {} and {} % with 8 %; 1 % loss",
        [unsigned(**TWO, loss="8%"), unsigned(**TWO_QUIC, loss="8%")],
    ),
    (
        "results/papers.md",
        "kakhki2017-fig5",
        "no difference of the windows is shown ({}, {})",
        [signed(**ALIKE), within(**ALIKE)],
    ),
    (
        "results/fairness.md",
        "kakhki2017-fig11",
        "has {} % more than TCP at 50 to 150 Mbit/s ({}), quic-go's Reno {} % ({}) and a TCP with BBR {} % ({})",
        [
            value(contrast=f"throughput: {contrast}", **SHORT_QUEUE)
            for contrast in ("Google's QUIC vs TCP", "quic-go vs TCP", "BBR vs Cubic")
            for value in (unsigned, within)
        ],
    ),
    (
        "results/fairness.md",
        "fairness-google",
        "one packet at a time instead of up to 10 gains {} ({}), Google's {} ({})",
        [value(contrast=name) for name in (ONE_PACKET, GOOGLES) for value in (signed, within)],
    ),
    (
        "results/fairness.md",
        "fairness-google",
        "The other 5 points ({}, {},",
        [value(contrast="share: Google's vs one packet at a time") for value in (signed, within)],
    ),
    (
        "results/proxies.md",
        "proxy-ends-tls",
        "QUIC's lead over it is {} and {} %",
        [unsigned(contrast="quic vs ended", size=size) for size in ("100KB", "1MB")],
    ),
    (
        "results/kakhki2017.md",
        "kakhki2017-fig10",
        "the untouched TCP ({}, {}). At 10 Mbit/s ({}, {}) and 50 Mbit/s ({}, {})",
        [value(contrast=DSACK, rate=rate) for rate in ("100Mbit", "10Mbit", "50Mbit") for value in (signed, within)],
    ),
)


@pytest.mark.parametrize(("document", "study", "template", "values"), SENTENCES, ids=[item[2] for item in SENTENCES])
def test_numbers_in_sentences_are_those_of_their_entries(
    document: str, study: str, template: str, values: Sequence[Value]
) -> None:
    sentence = plain(template.format(*(value(study) for value in values)))
    text = (DOCS / document).read_text(encoding="utf-8")
    assert sentence in " ".join(text.split()), sentence
