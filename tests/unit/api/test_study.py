"""Studies in Python: the keys, rules and messages of files, text that plans the same trials, and runs that go on."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import longlook.api as ll
from longlook.core.job import Job
from longlook.core.model import Run, Study
from longlook.engines.fake import FakeEngine
from longlook.study.files import find_document, find_study, study_files
from longlook.study.plan import make_plan
from longlook.study.toml_text import as_toml
from tests.conftest import TINY

KEYS = tomllib.loads(TINY.read_text())


def of_file(text: str, folder: Path, name: str = "mine") -> Study:
    file = folder / f"{name}.toml"
    file.write_text(text)
    return find_study(str(file))


@pytest.mark.parametrize("name", study_files())
def test_the_text_of_every_shipped_study_is_the_same_study(name: str, tmp_path: Path) -> None:
    _, document = find_document(name)
    text = as_toml(document)
    assert tomllib.loads(text) == document
    assert of_file(text, tmp_path, name) == find_study(name), "equal studies have equal plans"


def test_equal_studies_have_one_plan(tmp_path: Path) -> None:
    made = ll.study("kakhki2017-fig15").with_(rounds=2)  # it extends another study
    assert (
        make_plan(of_file(made.to_toml(), tmp_path, made.name)).hash == make_plan(find_study(made.name, rounds=2)).hash
    )


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_any_document_is_read_as_it_was_written(document: dict[str, Any]) -> None:
    assert tomllib.loads(as_toml(document)) == document


def test_a_document_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        as_toml({"title": b"x"})


def test_keys_in_python_are_the_file_s() -> None:
    made = ll.Study("tiny", **{key: value for key, value in KEYS.items() if key != "schema"})
    assert made == ll.study(str(TINY))
    assert make_plan(made._study).hash == make_plan(find_study(str(TINY))).hash


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": "ten"},
        {"metrics": ["page_load_tim"]},
        {"arms": {}},
        {"round": 3},
        {"network": {"rate": "50Mbot", "rtt": "36ms", "queue": "1bdp"}},
        {"contrasts": [["tcp", "quick"]]},
        {"factors": []},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_mistake_has_the_message_that_a_file_has(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ll.InputError) as of_text:
        of_file(as_toml({**KEYS, **change}), tmp_path)
    with pytest.raises(ll.InputError) as of_keys:
        ll.Study("mine", **{**KEYS, **change})
    assert str(of_keys.value) == str(of_text.value).replace("mine.toml:", "mine:")
    assert of_keys.value.hint == of_text.value.hint


def test_values_of_numpy_and_paths_and_tuples_are_plain() -> None:
    import numpy as np

    made = ll.Study("mine", **{**KEYS, "rounds": np.int64(4), "metrics": tuple(KEYS["metrics"])})
    assert made.document["rounds"] == 4
    assert made.with_(rounds=3) == ll.Study("mine", **KEYS)


def test_a_study_is_never_changed() -> None:
    made = ll.study(str(TINY))
    made.document["rounds"] = 99
    made.with_(rounds=20, settings={"network.rtt": "80ms"})
    assert made == ll.study(str(TINY))


def test_a_change_without_effect_is_refused() -> None:
    with pytest.raises(ll.InputError, match="factor size varies it"):
        ll.study(str(TINY)).with_(settings={"workload.object": "1MB"})


def test_changes_are_those_of_the_command() -> None:
    made = ll.study(str(TINY)).with_(rounds=5, around="standard", settings={"network.rtt": "80ms"})
    same = find_study(str(TINY), rounds=5, around="standard", changes={"network.rtt": "80ms"})
    assert make_plan(made._study).hash == make_plan(same).hash


def test_the_plan_is_a_table_with_numbers_of_levels() -> None:
    made = ll.study(str(TINY))
    table = made.plan(only=["size=5KB"])
    assert len(table) == 6
    assert set(table["round"]) == {1, 2, 3}
    assert set(table["size_bytes"]) == {5000.0}
    assert table["trial_id"].tolist() == [trial.id for trial in make_plan(made._study, ["size=5KB"]).trials]
    assert made.trials == made.cells["trials"].sum() == 12


def test_a_name_that_names_no_folder_is_refused() -> None:
    with pytest.raises(ll.InputError, match="names no study"):
        ll.Study("../up", **KEYS)


def test_labels_are_escaped() -> None:
    arms = {**KEYS["arms"], "tcp": {**KEYS["arms"]["tcp"], "label": "<script>alert(1)</script>"}}
    text = ll.Study("mine", **{**KEYS, "arms": arms})._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


class Interrupted(FakeEngine):
    """The user interrupts the kernel after seven trials."""

    def run(self, job: Job) -> Run:
        if len(self.ran) == 7:
            raise KeyboardInterrupt
        return super().run(job)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[FakeEngine]:
    """Engines that the next runs have, in this order."""
    waiting: list[FakeEngine] = []
    monkeypatch.setattr("longlook.engines.make_engine", lambda _name: waiting.pop(0), raising=False)
    return waiting


def test_an_interrupted_call_goes_on(engines: list[FakeEngine], tmp_path: Path) -> None:
    made, out, second = ll.study(str(TINY)), tmp_path / "run", FakeEngine()
    engines += [Interrupted(), second, third := FakeEngine()]
    with pytest.raises(KeyboardInterrupt) as stopped:
        made.run(out, jobs=1, progress=False)
    assert f"run(out={str(out)!r}) goes on" in stopped.value.__notes__[0]
    half = ll.open(out)
    assert not half.is_analysed
    assert "not analysed yet" in repr(half)
    assert "goes on" in half._repr_html_()
    with pytest.raises(ll.InputError, match="it was stopped"):
        half.samples()
    assert len(half.analyse(progress=False).samples()) == 7
    whole = made.run(out, jobs=1, progress=False)
    assert len(second.ran) == 5
    assert len(whole.samples()) == 12
    made.run(out, progress=False)
    assert third.ran == []


def test_another_study_is_not_gone_on_with(engines: list[FakeEngine], tmp_path: Path) -> None:
    engines += [FakeEngine(), FakeEngine()]
    made = ll.study(str(TINY))
    made.run(tmp_path / "run", progress=False)
    with pytest.raises(ll.InputError, match="planned differently"):
        made.with_(rounds=4).run(tmp_path / "run", progress=False)


def test_a_folder_in_use_is_refused(engines: list[FakeEngine], tmp_path: Path) -> None:
    from longlook.core.run_folder import RunFolder

    engines += [FakeEngine(), FakeEngine()]
    made, out = ll.study(str(TINY)), tmp_path / "run"
    made.run(out, progress=False)
    with RunFolder.open(out), pytest.raises(ll.InputError, match="in use by another"):
        ll.open(out).analyse(progress=False)
