"""A certification from its trials to its certificate: parts, sessions that go on, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError, MachineError
from longlook.core.model import Analysis
from longlook.core.run_folder import write_json
from longlook.engines import choice
from longlook.engines.fake import FakeEngine
from longlook.instruments.certify.certificate import CERTIFICATE, Part, load, save
from longlook.instruments.certify.disturbances import DISTURBANCES
from longlook.instruments.certify.document import facts_rows
from longlook.instruments.certify.exactness import NOTES, Repeated
from longlook.instruments.certify.figures import write_figures
from longlook.instruments.certify.rates import Limit, Promise
from longlook.instruments.certify.run import PARTS, WHOLE, CertificationSession, CertifyOptions, certify, empty
from longlook.instruments.certify.trial_bank import METRIC, BankRun, Scale
from longlook.pipeline.options import Observer

SMALL = str(Path(__file__).parents[3] / "data" / "certify.toml")
ONE = ("loss=1%",)
TINY = Scale(
    "tiny",
    {
        "cells": BankRun(SMALL, 4),
        "dense": BankRun(SMALL, 8, ONE),
        "power": BankRun(SMALL, 6, ONE),
        "live": BankRun(SMALL, 4, ONE, "live"),
    },
    draws=5,
    paths=1,
    heatmaps=4,
    repeats=1,
    passes=1,
)
_OTHERS = ("simulated", "strata", "near-programs", "strata-trials", WHOLE, "exactness", "live")
RESAMPLED = tuple(name for name in PARTS if name not in _OTHERS)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine()
    for name in ("virtual", "live"):
        monkeypatch.setitem(choice.ENGINES, name, lambda: made)  # type: ignore[arg-type]
    return made


def options(out: Path, *parts: str, **changes: object) -> CertifyOptions:
    return replace(CertifyOptions(TINY, out, parts), **changes)  # type: ignore[arg-type]


def test_every_part_has_its_rates_and_the_certificate_is_read_back(engine: FakeEngine, tmp_path: Path) -> None:
    made = certify(options(tmp_path, *RESAMPLED), Observer())
    assert tuple(made.parts) == RESAMPLED
    assert load(tmp_path / CERTIFICATE) == made
    assert all(part.rates for part in made.parts.values())
    assert [run.name for run in made.runs] == ["cells", "dense", "power"]
    assert made.parts["a-against-a"].rates[0].trials == 4  # two arms in two cells
    assert made.parts["coverage"].coverage
    assert {item.source for item in made.parts["power"].power} == {"delay under loss", "moved"}
    assert set(made.parts["sequential"].stopped_after) == {"0", "5", "10"}
    names = {path.name for path in write_figures(codec.encode(made), tmp_path / "figures")}
    assert {"error-rates.svg", "coverage.png", "power.pdf"} <= names


def test_a_session_goes_on_with_the_parts_and_trials_of_the_one_before(engine: FakeEngine, tmp_path: Path) -> None:
    first = certify(options(tmp_path, "a-against-a"), Observer())
    ran = len(engine.ran)
    second = certify(options(tmp_path, "heatmaps"), Observer())
    assert len(engine.ran) == ran
    assert tuple(second.parts) == ("a-against-a", "heatmaps")
    assert second.parts["a-against-a"] == first.parts["a-against-a"]


def test_a_session_makes_what_is_not_yet_measured_and_again_what_is_asked_for(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for name in PARTS:
        monkeypatch.setitem(PARTS, name, lambda _, name=name: made.append(name) or Part())  # type: ignore[index,misc]
    certify(options(tmp_path, "a-against-a", "live"), Observer())
    monkeypatch.setitem(PARTS, "power", lambda _: Part(missing="no such machine"))  # type: ignore[index]
    certify(options(tmp_path), Observer())
    assert sorted(made) == sorted(name for name in PARTS if name not in ("power", WHOLE))
    made.clear()
    monkeypatch.setitem(PARTS, "power", lambda _: made.append("power") or Part())  # type: ignore[index,func-returns-value]
    certify(options(tmp_path), Observer())
    assert made == ["power"]
    certify(options(tmp_path, "heatmaps"), Observer())
    assert made == ["power", "heatmaps"]


def test_a_new_folder_goes_on_from_the_certificate_of_another_machine(engine: FakeEngine, tmp_path: Path) -> None:
    first = certify(options(tmp_path / "one", "a-against-a"), Observer())
    carried = tmp_path / "carried.json"
    carried.write_bytes((tmp_path / "one" / CERTIFICATE).read_bytes())
    second = certify(options(tmp_path / "two", "coverage", before=carried), Observer())
    assert tuple(second.parts) == ("a-against-a", "coverage")
    assert second.parts["a-against-a"] == first.parts["a-against-a"]
    assert [run.name for run in second.runs] == ["cells", "dense"]
    assert second.parts["coverage"].host["cpus"]
    with pytest.raises(InputError, match="a certificate of its own"):
        certify(options(tmp_path / "two", before=carried), Observer())
    carried.write_bytes(carried.read_bytes().replace(b'"scale": "tiny"', b'"scale": "full"'))
    with pytest.raises(InputError, match="another scale"):
        certify(options(tmp_path / "three", before=carried), Observer())
    assert not (tmp_path / "three").exists()


def test_parts_of_an_older_method_stay_until_they_are_made_again(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for name in PARTS:
        monkeypatch.setitem(PARTS, name, lambda _, name=name: made.append(name) or Part())  # type: ignore[index,misc]
    new = certify(options(tmp_path, "heatmaps"), Observer())
    older = {"coverage": Part(minutes=2.0), "power": Part(minutes=3.0, method="oldest", day="2026-11-01")}
    save(replace(new, method="older", day="2026-11-24", parts=older), tmp_path)

    made.clear()
    mixed = certify(options(tmp_path, "heatmaps"), Observer())
    assert made == ["heatmaps"] and mixed.method == new.method and mixed.done == {"heatmaps"}
    origins = {name: (part.method, part.day) for name, part in mixed.parts.items()}
    assert origins["coverage"] == ("older", "2026-11-24") and origins["power"] == ("oldest", "2026-11-01")
    assert origins["heatmaps"] == (new.method, mixed.day)
    rows = list(facts_rows(mixed))
    assert "| minutes of coverage | 2.0 (2026-11-24, method `older`) |" in rows
    assert "| minutes of heatmaps | 0.0 |" in rows

    stricter = replace(mixed.analysis, alpha=0.001)
    again = mixed.by(mixed.method, stricter)
    assert (again.analysis, again.done) == (stricter, set())
    assert again.parts["heatmaps"].analysis == mixed.analysis and again.by(again.method, stricter) == again

    made.clear()
    certify(options(tmp_path), Observer())
    assert made == [name for name in PARTS if name not in ("heatmaps", WHOLE)]


def test_repeats_noted_beside_another_certificate_are_not_made_again(engine: FakeEngine, tmp_path: Path) -> None:
    certify(options(tmp_path / "one", "a-against-a"), Observer())
    noted = [Repeated(disturbance.name, 1, 8, 8) for disturbance in DISTURBANCES]
    write_json(tmp_path / "one" / NOTES, codec.encode(noted))
    second = certify(options(tmp_path / "two", "exactness", before=tmp_path / "one" / CERTIFICATE), Observer())
    assert second.parts["exactness"].repeated == tuple(noted)


def test_an_interruption_loses_no_finished_part(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: CertificationSession) -> Part:
        raise KeyboardInterrupt

    monkeypatch.setitem(PARTS, "heatmaps", stopped)  # type: ignore[index]
    with pytest.raises(KeyboardInterrupt):
        certify(options(tmp_path, "a-against-a", "heatmaps"), Observer())
    assert tuple(load(tmp_path / CERTIFICATE).parts) == ("a-against-a",)


def test_the_same_trials_give_the_same_certificate(engine: FakeEngine, tmp_path: Path) -> None:
    made = [certify(options(tmp_path / name, "coverage", "sequential"), Observer()) for name in ("one", "two")]
    first, second = ({name: replace(part, minutes=0) for name, part in item.parts.items()} for item in made)
    assert first == second


def test_a_machine_without_real_time_leaves_that_part_out_and_says_so(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(_: CertificationSession) -> Part:
        raise MachineError("no user namespaces")

    monkeypatch.setitem(PARTS, "live", unable)  # type: ignore[index]
    made = certify(options(tmp_path, "live"), Observer())
    assert made.parts["live"].missing == "no user namespaces"
    monkeypatch.setitem(PARTS, "heatmaps", unable)  # type: ignore[index]
    with pytest.raises(MachineError):
        certify(options(tmp_path, "heatmaps"), Observer())


def test_the_live_part_is_measured_where_it_can_be(engine: FakeEngine, tmp_path: Path) -> None:
    part = certify(options(tmp_path, "live"), Observer()).parts["live"]
    assert (part.missing, part.rates[0].part, part.rates[0].trials) == (None, "live", 2)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"scale": "full"}, "scale: full, now tiny"),
        ({"longlook": "0.0.1"}, "version of Longlook: 0.0.1"),
        ({"seed": 3}, "seed: 3"),
    ],
)
def test_a_folder_of_another_certification_is_refused(tmp_path: Path, change: dict[str, object], what: str) -> None:
    begun = empty(TINY, Analysis(min_rounds=2))
    save(replace(begun, **change), tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        certify(options(tmp_path, "heatmaps"), Observer())
    assert what in caught.value.message
    assert "another --out" in str(caught.value.hint)
    assert replace(begun, **change) == load(tmp_path / CERTIFICATE)  # type: ignore[arg-type]


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds no certification"):
        certify(options(tmp_path), Observer())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ('{"schema": 9}', "has schema 9"),
        ("[]", "has schema None"),
        ('{"schema": 2}', "damaged"),
    ],
)
def test_a_damaged_certificate_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / CERTIFICATE).write_text(text)
    with pytest.raises(InputError, match=message):
        certify(options(tmp_path), Observer())


def test_an_unknown_part_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        certify(options(tmp_path / "new", "heatmap"), Observer())
    assert "heatmaps" in caught.value.message
    assert not (tmp_path / "new").exists()


def test_a_missed_level_or_a_repeat_that_differed_is_not_sound() -> None:
    rate = Promise("a", "b", METRIC, "trials", 0.01, Limit.AT_MOST).rate([True] * 5)
    assert rate is not None
    assert not Part((rate,)).sound
    assert not Part(repeated=(Repeated("none", 1, 8, 7),)).sound
    assert Part(repeated=(Repeated("none", 1, 8, 8),)).sound
    certificate = empty(TINY, Analysis(min_rounds=2))
    assert certificate.sound
    assert not replace(certificate, parts={"heatmaps": Part((rate,))}).sound
