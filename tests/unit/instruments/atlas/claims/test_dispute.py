"""Dispute files: the shipped ones, what they may contain, and the errors of wrong ones."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.instruments.atlas.claims.dispute import (
    PREDICTED,
    Control,
    Dispute,
    DisputeTable,
    Holds,
    SchemaTable,
    judged_by,
    list_disputes,
    read_dispute,
    unit_of,
)
from longlook.study.files import list_studies

EXAMPLE = """
schema = 1
question = "Does the gain shrink with size?"

[[positions]]
name = "shrinks"
source = "one paper"
says = "It shrinks."
holds = { trend = "falls", tolerance = 3 }

[[positions]]
name = "positive"
source = "another paper"
says = "QUIC is faster."
holds = { at_least = 0 }

[[evidence]]
study = "kakhki2017-fig6a"
contrast = "quic vs tcp"
factor = "size"
cell = { rate = "10Mbit" }
"""
LEVEL = """
[[evidence]]
study = "kakhki2017-fig6a"
arm = "quic"
metric = "page_load_time"
factor = "rate"
levels = ["10Mbit", "100Mbit"]
cell = { size = "1MB" }
"""


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    return {study.id: study for study in list_studies()}


def read(tmp_path: Path, text: str, studies: dict[str, Study]) -> Dispute:
    path = tmp_path / "example.toml"
    path.write_text(text)
    return read_dispute(path, studies)


def test_the_shipped_disputes_read(studies: dict[str, Study]) -> None:
    disputes = {dispute.id: dispute for dispute in list_disputes(studies)}
    assert {"file-size", "bandwidth", "many-small-objects", "loss", "reordering"} <= set(disputes)
    for dispute in disputes.values():
        assert len({position.name for position in dispute.positions}) == len(dispute.positions) >= 2
        assert all(position.source and position.says for position in dispute.positions)
        assert [bool(dispute.evidence), dispute.undecidable is not None, dispute.settled is not None].count(True) == 1


def test_evidence_is_an_effect_or_a_level(tmp_path: Path, studies: dict[str, Study]) -> None:
    effect = read(tmp_path, EXAMPLE, studies)
    assert effect.id == "example"
    (found,) = effect.evidence
    assert (found.metric, found.levels[0], found.levels[-1], unit_of(found)) == ("page_load_time", "5KB", "10MB", "%")
    (level,) = read(tmp_path, EXAMPLE.partition("[[evidence]]")[0] + LEVEL, studies).evidence
    assert (level.arm, level.levels, unit_of(level)) == ("quic", ("10Mbit", "100Mbit"), "s")


def test_a_contrast_may_be_looked_at_on_another_metric(tmp_path: Path, studies: dict[str, Study]) -> None:
    dispute = read(tmp_path, EXAMPLE.replace('factor = "size"', 'factor = "size"\nmetric = "handshake_time"'), studies)
    assert dispute.evidence[0].metric == "handshake_time"


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("question", "qestion", ["qestion", "did you mean 'question'?"]),
        ('trend = "falls"', 'trend = "fals"', ["positions.shrinks.holds.trend", "falls", "did you mean"]),
        ("tolerance = 3", "tolerance = -3", ["positions.shrinks.holds.tolerance", "greater than or equal to 0"]),
        ('trend = "falls", tolerance = 3', 'trend = "constant"', ["holds.tolerance", "needs one above 0"]),
        ('trend = "falls", tolerance = 3', 'trend = "falls", at_most = 3', ["both bounds and trend"]),
        ("{ at_least = 0 }", "{}", ["positions.positive.holds", "at_least, at_most"]),
        ("{ at_least = 0 }", '{ verdict = "best" }', ["positions.positive.holds.verdict", "'better'"]),
        ("{ at_least = 0 }", '{ at_least = 0, verdict = "better" }', ["both bounds and verdict: one of them"]),
        ("{ at_least = 0 }", '{ verdict = "better", tolerance = 1 }', ["is of a trend"]),
        ("{ at_least = 0 }", "{ at_least = 1, at_most = 0 }", ["lies above at_most"]),
        ("{ at_least = 0 }", "{ at_least = 0, tolerance = 1 }", ["is of a trend"]),
        ("{ at_least = 0 }", '{ at_least = "0" }', ["at_least", "number"]),
        ('name = "positive"', 'name = "shrinks"', ["positions.shrinks", "two positions have this name"]),
        ('"kakhki2017-fig6a"', '"kakhki-fig6a"', ["evidence[0].study", "did you mean 'kakhki2017-fig6a'?"]),
        ('"quic vs tcp"', '"tcp vs quic"', ["evidence[0].contrast", "quic vs tcp"]),
        ('contrast = "quic vs tcp"', 'arm = "quick"\nmetric = "throughput"', ["evidence[0].arm", "'quic'"]),
        ('contrast = "quic vs tcp"', 'arm = "quic"', ["evidence[0].metric", "missing", "page_load_time"]),
        ('contrast = "quic vs tcp"', 'metric = "throughput"', ["evidence[0]", "contrast (an effect) or an arm"]),
        ('factor = "size"', 'factor = "sise"', ["evidence[0].factor", "did you mean 'size'?"]),
        ('factor = "size"', 'factor = "size"\nmetric = "plt"', ["evidence[0].metric", "page_load_time"]),
        ('factor = "size"', 'factor = "size"\nlevels = ["5KB", "6KB"]', ["evidence[0].levels", "6KB", "5KB"]),
        ('factor = "size"', 'factor = "size"\nlevels = ["5KB"]', ["evidence[0].levels", "two levels"]),
        ('factor = "size"', 'factor = "size"\nlevels = ["5KB", "5KB"]', ["listed twice"]),
        ('cell = { rate = "10Mbit" }', "", ["evidence[0].cell", "names no level of rate"]),
        ('rate = "10Mbit"', 'rate = "11Mbit"', ["evidence[0].cell.rate", "10Mbit"]),
        ('rate = "10Mbit"', 'rate = "10Mbit", loss = "1%"', ["evidence[0].cell.loss", "no factor 'loss'"]),
        ('rate = "10Mbit"', 'rate = "10Mbit", size = "5KB"', ["evidence[0].cell.size", "looked along"]),
        ("schema = 1", "schema = 2", ["schema"]),
        ("schema = 1", "schema = ", ["not TOML"]),
    ],
)
def test_what_is_wrong_is_reported(
    tmp_path: Path, studies: dict[str, Study], old: str, new: str, messages: list[str]
) -> None:
    assert old in EXAMPLE
    with pytest.raises(InputError) as caught:
        read(tmp_path, EXAMPLE.replace(old, new, 1), studies)
    reported = f"{caught.value.message}\n{caught.value.hint}"
    assert "example.toml" in reported
    assert all(message in reported for message in messages), reported


CONTROLLED = EXAMPLE + EXAMPLE[EXAMPLE.index("\n[[evidence]]") :].replace("10Mbit", "50Mbit")
CONTROL = 'control = { why = "both say so", holds = { at_least = 3 } }\n'


def test_a_control_has_what_all_positions_predict(tmp_path: Path, studies: dict[str, Study]) -> None:
    dispute = read(tmp_path, CONTROLLED + CONTROL, studies)
    deciding, control = dispute.evidence
    assert deciding.control is None and control.control == Control("both say so", Holds(at_least=3))
    assert judged_by(deciding, dispute.positions).keys() == {"shrinks", "positive"}
    assert judged_by(control, dispute.positions) == {PREDICTED: Holds(at_least=3)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EXAMPLE + CONTROL, "is controls alone, which decide nothing"),
        (CONTROLLED + CONTROL.replace("at_least = 3", ""), "evidence[1].control.holds: has no condition"),
        (CONTROLLED + "control = { holds = { at_least = 3 } }\n", "evidence[1].control.why: missing"),
        (EXAMPLE.replace("tolerance = 3", 'tolerance = 3, over = "rate"'), "no evidence is along it"),
        (EXAMPLE.replace("at_least = 0", "at_least = 0, ends_at_least = 1"), "is of a trend"),
        (EXAMPLE.replace("tolerance = 3", "tolerance = 3, ends_at_least = 2, ends_at_most = 1"), "lies above"),
    ],
)
def test_wrong_controls_and_ends_are_reported(
    tmp_path: Path, studies: dict[str, Study], text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, studies)
    assert message in caught.value.message


def test_values_of_two_units_are_not_compared(tmp_path: Path, studies: dict[str, Study]) -> None:
    with pytest.raises(InputError, match="one kind and unit"):
        read(tmp_path, EXAMPLE + LEVEL, studies)


VERDICTS = """
schema = 1
question = "Does QUIC interrupt video less often?"

[[positions]]
name = "less often"
source = "one paper"
says = "Yes."
holds = { verdict = "better" }

[[positions]]
name = "more often"
source = "another paper"
says = "No."
holds = { verdict = "worse" }

[[evidence]]
study = "kakhki2017-tab6"
contrast = "stalls"
factor = "quality"
cell = { rate = "100Mbit" }

[[evidence]]
study = "kakhki2017-tab6"
contrast = "waiting"
factor = "quality"
cell = { rate = "100Mbit" }
"""


def test_verdicts_are_about_effects_in_any_unit(tmp_path: Path, studies: dict[str, Study]) -> None:
    dispute = read(tmp_path, VERDICTS, studies)
    assert [unit_of(item) for item in dispute.evidence] == ["stalls", "points"]
    with pytest.raises(InputError, match="one kind and unit"):
        read(tmp_path, VERDICTS.replace('verdict = "worse"', "at_most = 0"), studies)
    level = VERDICTS.partition("[[evidence]]")[0] + LEVEL
    with pytest.raises(InputError, match="is a level, which has no verdict"):
        read(tmp_path, level, studies)


def test_disputes_of_others_are_found(
    tmp_path: Path, studies: dict[str, Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "disputes"
    folder.mkdir()
    (folder / "mine.toml").write_text(EXAMPLE)
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    assert "mine" in {dispute.id for dispute in list_disputes(studies)}
    (folder / "loss.toml").write_text(EXAMPLE)
    with pytest.raises(InputError, match="dispute 'loss' exists twice"):
        list_disputes(studies)


NO_EVIDENCE = EXAMPLE.partition("[[evidence]]")[0].replace("holds = ", "# holds = ")
UNDECIDABLE = '[undecidable]\nwhy = "no video"\nneeds = "a player"\n'
SETTLED = '[settled]\nholds = "shrinks"\nby = "arithmetic"\n'


def test_a_dispute_without_evidence_says_why_or_what_settles_it(tmp_path: Path, studies: dict[str, Study]) -> None:
    open_question = read(tmp_path, NO_EVIDENCE + UNDECIDABLE, studies)
    assert open_question.undecidable is not None and open_question.undecidable.needs == "a player"
    settled = read(tmp_path, NO_EVIDENCE + SETTLED, studies)
    assert settled.settled is not None and settled.settled.holds == "shrinks"


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (NO_EVIDENCE, ["evidence", "missing", "[undecidable]", "[settled]"]),
        (NO_EVIDENCE + UNDECIDABLE + SETTLED, ["settled", "stands beside undecidable"]),
        (EXAMPLE + UNDECIDABLE, ["undecidable", "stands beside evidence"]),
        (NO_EVIDENCE + UNDECIDABLE.replace('needs = "a player"\n', ""), ["undecidable.needs", "missing"]),
        (NO_EVIDENCE + SETTLED.replace("shrinks", "shrink"), ["settled.holds", "did you mean 'shrinks'?"]),
        (NO_EVIDENCE.replace("# holds", "holds") + UNDECIDABLE, ["positions.shrinks.holds", "has none"]),
        (EXAMPLE.replace("holds = { at_least = 0 }", ""), ["positions.positive.holds", "missing"]),
    ],
)
def test_what_decides_is_one_thing(tmp_path: Path, studies: dict[str, Study], text: str, messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, studies)
    assert all(message in caught.value.message for message in messages), caught.value.message


def test_every_key_of_the_format_is_documented() -> None:
    page = (Path(__file__).parents[5] / "docs" / "guide" / "claims.md").read_text()
    keys = {field.alias or name for table in SchemaTable.__subclasses__() for name, field in table.model_fields.items()}
    assert len(keys) > len(DisputeTable.model_fields)
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []
