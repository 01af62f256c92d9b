"""Findings: their numbers come from entries, and a finding that an entry no longer bears stops the build."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import InputError, Verdict
from longlook.instruments.atlas.claims.entries import Found, read_entry
from longlook.instruments.atlas.site.findings import read_findings

ENTRIES = Path(__file__).parents[5] / "docs" / "data" / "entries"
STUDY = "kakhki2017-fig6a"


@pytest.fixture(scope="module")
def found() -> Found:
    path = ENTRIES / f"{STUDY}.json"
    return Found(read_entry(path), path, None)


Read = Callable[..., str]


@pytest.fixture
def read(found: Found, tmp_path: Path) -> Read:
    """Return the text of a file with one finding of this text, by the entry or by another one."""

    def one(text: str, run: Found = found, contrast: str = "quic vs tcp") -> str:
        file = tmp_path / "findings.toml"
        lines = ("schema = 1", "[[findings]]", 'name = "one"', 'title = "A"', f'study = "{STUDY}"')
        file.write_text("\n".join((*lines, f'text = "{text}"', f'contrasts = ["{contrast}"]')))
        (finding,) = read_findings(file, {STUDY: run})
        return finding.text

    return one


def test_a_number_is_that_of_its_place(found: Found, read: Read) -> None:
    (estimate,) = (
        item for item in found.entry.estimates if (item.contrast, item.cell_id) == ("quic vs tcp", "50Mbit_10MB")
    )
    assert estimate.effect_pct is not None
    text = read("It is {0.0 % = quic vs tcp | 50Mbit | 10MB; better; at most 20} faster.")
    assert text == f"It is {estimate.effect_pct:.1f}\u00a0% faster."


def test_a_verdict_that_is_another_stops(found: Found, read: Read) -> None:
    worse = tuple(replace(item, verdict=Verdict.WORSE) for item in found.entry.estimates)
    turned = replace(found, entry=replace(found.entry, estimates=worse))
    with pytest.raises(InputError, match="the sentence says better, but 10Mbit_5KB is worse"):
        read("{0 to 0 % = quic vs tcp | 5KB; better}", turned)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{0 % = quic vs tcp | 5KB | 10Mbit; at least 80}", "its values are not at least 80"),
        ("{0 % = quic vs tcp | 5KB | 10Mbit}", "no condition"),
        ("{0 % = quic vs tcp | 7KB; better}", "'7KB' is nothing of it"),
        ("{0 % = quic vs tcp | 5KB | 10Mbit; nice}", "'nice' is no condition"),
        ("{0 % = quic vs tcp | 5KB; better}", "3 values for 1 numbers"),
        ("{0 %}", "a brace that belongs to no macro"),
        ("{many = quic vs tcp | 5KB; better}", "the text has no number"),
    ],
)
def test_a_number_without_its_place_stops(read: Read, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(text)


def test_a_cell_that_vanished_stops(found: Found, read: Read) -> None:
    left = tuple(item for item in found.entry.estimates if item.cell["size"] != "5KB")
    with pytest.raises(InputError, match="nothing is there"):
        read("{0 % = quic vs tcp | 5KB; better}", replace(found, entry=replace(found.entry, estimates=left)))


def test_all_problems_are_named_at_once(found: Found) -> None:
    with pytest.raises(InputError) as raised:
        read_findings(None, {STUDY: found})
    assert raised.value.message.count("there is no entry of this study") == 7
    assert raised.value.hint is not None and "--findings FILE" in raised.value.hint


def test_a_contrast_that_nobody_has_stops(read: Read) -> None:
    with pytest.raises(InputError, match="the study has no such contrast"):
        read("None.", contrast="quic vs carrier pigeons")


def test_the_shipped_findings_hold_by_the_entries_of_the_repository() -> None:
    found = {path.stem: Found(read_entry(path), path, None) for path in ENTRIES.glob("*.json")}
    findings = read_findings(None, found)
    assert len(findings) == 8
    assert not any("{" in finding.text or "}" in finding.text for finding in findings)
    assert all(any(letter.isdigit() for letter in finding.text) for finding in findings)
