"""Entries of an atlas: the same run gives the same file, which says all that pages need, and damage is named."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError, MachineError
from longlook.core.results import ClaimResult
from longlook.core.run_folder import RunFolder
from longlook.explain.answer import Answer, Status
from longlook.instruments.atlas.claims.entries import EntryFolder, make_entry, read_entry, refuse_other_folder
from longlook.instruments.atlas.claims.entry import SCHEMA_VERSION, Effort, Entry, entry_of, entry_text
from longlook.pipeline.answers import write_answers
from longlook.study.files import find_study
from tests.data.atlas import made_up_run

EFFECTS, LEVELS = "kakhki2017-fig10", "kakhki2017-tab4"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: made_up_run(root / name, find_study(name)) for name in (EFFECTS, LEVELS)}


@pytest.fixture(scope="module")
def entry(runs: dict[str, Path]) -> Entry:
    return make_entry(runs[EFFECTS], [])


@pytest.mark.parametrize("name", [EFFECTS, LEVELS])
def test_an_entry_has_the_claims_as_the_analysis_judged_them(runs: dict[str, Path], name: str) -> None:
    made = make_entry(runs[name], [])
    judged = [codec.decode(ClaimResult, item) for item in json.loads((runs[name] / "claims.json").read_text())]
    found = entry_of(entry_text(made)).claim_results()
    assert [(item.claim, item.result, item.reason, item.level) for item in found] == [
        (item.claim, item.result, item.reason, item.level) for item in judged
    ]
    for mine, theirs in zip(found, judged, strict=True):
        assert (mine.estimate is None) == (theirs.estimate is None)
        if mine.estimate is not None and theirs.estimate is not None:
            assert mine.estimate.effect_pct == theirs.estimate.effect_pct
    assert made.results == "5b" * 32 and made.good == made.trials > 0
    assert made.day == "2026-11-21"


def test_an_entry_of_the_former_schema_is_judged_again(entry: Entry) -> None:
    data = codec.encode(entry)
    data["claims"] = [{"id": data["study"]["claims"][0]["id"], "result": "reproduced", "reason": "as it was"}]
    former = json.dumps({"schema_version": 1, "digest": codec.content_hash(data), **data})
    assert entry_of(former) == entry and entry_of(former).claim_results() == entry.claim_results()
    with pytest.raises(ValueError, match="its content is not the one"):
        entry_of(former.replace("as it was", "as it is"))


def test_effects_that_disputes_look_at_on_another_metric_judge_no_claim(entry: Entry) -> None:
    others = tuple(replace(item, metric="throughput", effect_pct=-9e9) for item in entry.estimates)
    assert replace(entry, estimates=(*others, *entry.estimates)).claim_results() == entry.claim_results()


def test_the_same_run_gives_the_same_bytes_and_few_of_them(runs: dict[str, Path], entry: Entry) -> None:
    text = entry_text(entry)
    assert text == entry_text(make_entry(runs[EFFECTS], [])) == entry_text(entry_of(text))
    data = json.loads(text)
    assert (data["schema_version"], data["plan_hash"]) == (SCHEMA_VERSION, entry.plan_hash)
    assert len(text) < 60_000 and max(map(len, text.splitlines())) < 1_500


def test_an_entrys_engine_is_that_of_its_trials(tmp_path: Path) -> None:
    study = find_study(LEVELS)
    live = replace(study, arms=tuple(replace(arm, settings={**arm.settings, "engine": "live"}) for arm in study.arms))
    assert make_entry(made_up_run(tmp_path / "virtual", study), []).engine == "virtual"
    assert make_entry(made_up_run(tmp_path / "live", live), []).engine == "live"
    mixed = replace(study, arms=(live.arms[0], *study.arms[1:]))
    assert make_entry(made_up_run(tmp_path / "both", mixed), []).engine == "virtual and live"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("longlook run demo --out /home/me/run", "longlook run demo"),
        ("longlook run --out 'my runs' demo --rounds 3", "longlook run demo --rounds 3"),
        ("longlook run demo --out=x --only 'rate=10Mbit, 1MB'", "longlook run demo --only 'rate=10Mbit, 1MB'"),
        ("", ""),
    ],
)
def test_an_entrys_command_names_no_folder_of_the_machine(tmp_path: Path, command: str, expected: str) -> None:
    run = made_up_run(tmp_path / "run", find_study(LEVELS))
    RunFolder.open(run).note(command=command)
    assert make_entry(run, []).command == expected


def test_an_entry_has_what_trials_took_and_the_sentences_of_explanations(tmp_path: Path) -> None:
    run = made_up_run(tmp_path / "run", find_study(LEVELS))
    assert make_entry(run, []).effort is None
    RunFolder.open(run).note(effort={"trials": 10, "cpu_s": 12.5, "job_s": 30.0})
    answer = Answer(
        study=LEVELS, cell={}, cell_id="all", contrast="c", metric="m",
        status=Status.NO_GAP, reason="it is so", command="",
    )  # fmt: skip
    write_answers(run / "explain", answer)
    made = make_entry(run, [])
    assert made.effort == Effort(10, 12.5, 30.0)
    (explained,) = made.explanations
    assert (explained.contrast, explained.cell_id) == ("c", "all") and "it is so" in explained.sentence.lower()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace('"trials":', '"trials":1', 1), "its content is not the one of its digest"),
        (lambda text: text.replace('"schema_version":2', '"schema_version":9', 1), "schema version 9, this Longlook"),
        (lambda text: text[:5000], "cannot be read"),
        (lambda _text: "[]", "it is no entry of an atlas"),
        (lambda _text: "[" * 100_000, "cannot be read"),
        (lambda text: text.replace('"rows":[', '"rows":[[],', 1), "cannot be read"),
    ],
)  # fmt: skip
def test_a_damaged_entry_is_named(
    tmp_path: Path, runs: dict[str, Path], damage: Callable[[str], str], message: str
) -> None:
    text = entry_text(make_entry(runs[LEVELS], []))
    file = tmp_path / f"{LEVELS}.json"
    changed = damage(text)
    assert changed != text
    file.write_text(changed)
    with pytest.raises(InputError, match=message) as caught:
        read_entry(file)
    assert str(file) in caught.value.message and "remove it" in str(caught.value.hint)


def test_a_folder_of_entries_has_those_of_installed_studies_by_name(tmp_path: Path, entry: Entry) -> None:
    folder = EntryFolder(tmp_path, [EFFECTS, LEVELS])
    assert folder.read(EFFECTS) is None and folder.all() == {}
    folder.keep(entry)
    assert folder.read(EFFECTS) == entry and folder.all() == {EFFECTS: entry}
    with pytest.raises(InputError, match="'kakhki2017-fig10', which is no installed study; did you mean"):
        EntryFolder(tmp_path, ["kakhki2017-fig11"])
    (tmp_path / f"{LEVELS}.json").write_text(entry_text(entry))
    with pytest.raises(InputError, match=f"is an entry of {EFFECTS}"):
        folder.all()


def test_an_entry_of_a_newer_run_stays(tmp_path: Path, entry: Entry) -> None:
    folder = EntryFolder(tmp_path, [EFFECTS])
    newer = replace(entry, made_unix_s=entry.made_unix_s + 1, good=entry.good - 1)
    for given, kept in ((entry, entry), (newer, newer), (entry, newer)):
        folder.keep(given)
        assert folder.read(EFFECTS) == kept
    file = folder.file(EFFECTS)
    file.write_text("{}")
    with pytest.raises(InputError, match="no entry"):
        EntryFolder(tmp_path, [EFFECTS]).keep(newer)
    assert file.read_text() == "{}"


def test_a_place_that_takes_no_entry_is_a_fault_of_the_machine(tmp_path: Path, entry: Entry) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot write"):
        EntryFolder(tmp_path / "file" / "entries", [EFFECTS]).keep(entry)
    with pytest.raises(InputError, match="is no folder of entries"):
        EntryFolder(tmp_path / "file", [EFFECTS])


def test_a_folder_of_other_files_takes_no_entries(tmp_path: Path, entry: Entry) -> None:
    refuse_other_folder(tmp_path / "absent")
    EntryFolder(tmp_path, [EFFECTS]).keep(entry)
    (tmp_path / ".hidden").write_text("")
    refuse_other_folder(tmp_path)
    (tmp_path / "passwd").write_text("")
    with pytest.raises(InputError, match="is no folder of entries: it has passwd"):
        refuse_other_folder(tmp_path)


def test_an_entry_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "link.json").symlink_to("secret")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("link.json", "pipe.json"):
        with pytest.raises(InputError, match=rf"{name} cannot be read: it is a"):
            read_entry(tmp_path / name)
