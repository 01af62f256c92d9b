"""Studies that `longlook study new` writes are sound, and the schema for editors agrees with the studies there are."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from longlook.study.drafts import Answers, changed_study, new_study
from longlook.study.files import find_study, study_files
from longlook.study.json_schema import study_schema
from longlook.study.plan import make_plan
from tests.support.command_line import call_longlook


def test_a_new_study_is_sound_and_fits_the_schema(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(new_study(str(file), Answers(question='Is "it" faster?', rates=("5Mbit",), losses=("0%",))))
    study = find_study(str(file))
    assert study.question == 'Is "it" faster?'
    assert len(make_plan(study).trials) == 20
    jsonschema.validate(tomllib.loads(file.read_text()), study_schema())


def test_a_changed_study_starts_from_another_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(changed_study(str(file), "demo", "A demo, changed"))
    study = find_study(str(file))
    assert study.title == "A demo, changed"
    assert study.factors == find_study("demo").factors


@pytest.mark.parametrize("name", sorted(study_files()))
def test_every_study_fits_the_schema(name: str) -> None:
    jsonschema.validate(tomllib.loads(study_files()[name].read_text()), study_schema())


@pytest.mark.parametrize(
    "wrong",
    [{"rounds": "many"}, {"metrics": "page_load_time"}, {"analysis": {"alfa": 0.1}}, {"figure": {"kind": "pie"}}],
)
def test_the_schema_finds_what_is_wrong(wrong: dict[str, object]) -> None:
    document = tomllib.loads(study_files()["demo"].read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, **wrong}, study_schema())


def test_keys_have_their_meaning_in_the_schema() -> None:
    schema = study_schema()
    assert schema["properties"]["rounds"]["description"].startswith("how often every arm meets every cell")
    assert "description" in schema["properties"]["network"]["properties"]["rtt"]
    assert "](" not in json.dumps(schema)


def test_the_commands(tmp_path: Path) -> None:
    written = call_longlook("study", "new", "mine.toml", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    again = call_longlook("study", "new", "mine.toml", cwd=tmp_path)
    assert (again.returncode, "exists" in again.stderr) == (2, True)
    checked = call_longlook("study", "check", "mine.toml", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["trials"] == 84
    other = call_longlook("study", "new", "other.toml", "--from", "demo", cwd=tmp_path)
    assert other.returncode == 0, other.stderr
    assert call_longlook("study", "check", "other.toml", cwd=tmp_path).returncode == 0
    assert call_longlook("study", "new", "other", cwd=tmp_path).returncode == 2
    assert call_longlook("study", "new", "third.toml", "--from", "dmeo", cwd=tmp_path).returncode == 2
    assert json.loads(call_longlook("study", "schema").stdout)["properties"]["schema"]["const"] == 1


def test_mistakes_come_with_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = new_study(str(file), Answers())
    file.write_text(text.replace('protocol = "h3"', 'protocol = "h3"\ncongestion_control = "cubic"'))
    answer = call_longlook("study", "check", str(file))
    assert (answer.returncode, 'write server_knobs.congestion_control = "cubic"' in answer.stderr) == (2, True)
    file.write_text(text.replace("objects = 1", 'objects = "12x5KB, 5x40KB"'))
    assert 'kind = "mixed_page"' in call_longlook("study", "check", str(file)).stderr
    without = text[: text.index("[network]")].replace(
        '{ name = "loss"', '{ name = "rtt", sets = "network.rtt", levels = ["36ms"] }, { name = "loss"'
    )
    file.write_text(without)
    assert call_longlook("study", "check", str(file)).returncode == 0
