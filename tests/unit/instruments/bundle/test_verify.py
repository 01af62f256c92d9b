"""A verification without trials that run again: files, seals, and the analysis anew."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longlook.core import InputError, LonglookError, MachineError
from longlook.instruments.bundle.archive import write_bundle
from longlook.instruments.bundle.layout import ABOUT, SUMS
from longlook.instruments.bundle.rerun import Again, differing_artefacts
from longlook.instruments.bundle.show import fail_unless_same, verified_shown
from longlook.instruments.bundle.verify import Verified, VerifyRequest, verify
from longlook.pipeline import Observer
from tests.data.trials import trial

REQUEST = VerifyRequest(sample="all", seed=1, jobs=1)


def checked(path: Path) -> Verified:
    return verify(path, REQUEST, Observer())


def changed(bundle: Path, out: Path, name: str, content: bytes) -> Path:
    """Write a bundle again with another file in it, and a list of digests that fits: whoever forges one can do that."""
    with zipfile.ZipFile(bundle) as archive:
        contents: dict[str, Path | bytes] = {each: archive.read(each) for each in archive.namelist() if each != SUMS}
    write_bundle(out, {**contents, name: content}, frozenset())
    return out


def test_a_sound_bundle_passes_and_says_that_made_up_trials_do_not_repeat(bundle: Path, whole_bundle: Path) -> None:
    found = checked(bundle)
    assert (found.trials, found.exact, found.altered, found.again, found.tables) == (12, 0, (), (), {})
    fail_unless_same(found)
    found = checked(whole_bundle)
    assert found.tables == {"results": True, "samples.parquet": True, "estimates.parquet": True}
    fail_unless_same(found)


def test_a_run_folder_is_verified_where_it_is(run: Path) -> None:
    assert checked(run).altered == ()
    record = next(run.glob("trials/*/run.json"))
    record.write_text(record.read_text() + " ")
    (what,) = {text for text in checked(run).altered if text.startswith("trial ")}
    assert what == f"trial {record.parent.name}: run.json was changed"


def test_a_forged_list_does_not_hide_a_changed_record(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        name = next(each for each in archive.namelist() if each.endswith("/run.json"))
        record = json.loads(archive.read(name))
    record["outcome"] = "failed"
    found = checked(changed(bundle, tmp_path / "b.zip", name, json.dumps(record).encode()))
    assert found.altered == (f"{name} was changed",)
    with pytest.raises(LonglookError) as caught:
        fail_unless_same(found)
    assert caught.value.exit_code == 1


def test_tables_that_the_raw_files_do_not_give_are_found(whole_bundle: Path, bundle: Path, tmp_path: Path) -> None:
    import pandas as pd

    with zipfile.ZipFile(whole_bundle) as archive:
        (tmp_path / "samples.parquet").write_bytes(archive.read("samples.parquet"))
        seals = archive.read("seals.jsonl").splitlines()
    samples = pd.read_parquet(tmp_path / "samples.parquet")
    samples.loc[0, "value"] = 0.001
    samples.to_parquet(tmp_path / "samples.parquet", index=False)
    forged = changed(whole_bundle, tmp_path / "1.zip", "samples.parquet", (tmp_path / "samples.parquet").read_bytes())
    assert checked(forged).altered == ("samples.parquet was changed",)
    kept = b"".join(line + b"\n" for line in seals if json.loads(line)["file"] != "samples.parquet")
    found = checked(changed(forged, tmp_path / "2.zip", "seals.jsonl", kept))
    assert found.altered == ()
    assert found.tables == {"results": True, "samples.parquet": False, "estimates.parquet": True}
    with pytest.raises(LonglookError, match="gives other results"):
        fail_unless_same(found)


def test_a_bundle_without_programs_has_none_to_use(run: Path) -> None:
    with pytest.raises(InputError, match="it carries no programs"):
        verify(run, VerifyRequest("all", 1, 1, use_programs=True), Observer())


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        checked(tmp_path / "none.zip")
    with pytest.raises(InputError, match="not a run folder"):
        checked(tmp_path)


def test_the_links_log_is_named_before_what_programs_write() -> None:
    kept = {"client.jsonl": "1", "link.bin": "2", "same": "3", "gone": "4"}
    assert differing_artefacts(kept, {"client.jsonl": "x", "link.bin": "y", "same": "3"}) == (
        "link.bin",
        "client.jsonl",
        "gone",
    )
    assert differing_artefacts(kept, kept) == ()


def test_a_difference_by_other_programs_is_the_machines(tmp_path: Path) -> None:
    found = Verified(tmp_path, None, "s", 1, 1, 7, again=(Again(trial(), ("link.bin",)),))
    with pytest.raises(LonglookError, match="1 of 1 trials differ") as caught:
        fail_unless_same(found)
    assert caught.value.exit_code == 1
    other = Verified(tmp_path, None, "s", 1, 1, 7, deviations=("kernel is a, was b",), again=found.again)
    with pytest.raises(MachineError, match="kernel is a, was b"):
        fail_unless_same(other)
    fail_unless_same(Verified(tmp_path, None, "s", 1, 1, 7, again=(Again(trial(), (), other_programs=True),)))


def test_the_facts_of_a_bundle_count_as_they_are(bundle: Path) -> None:
    about = checked(bundle).about
    assert about is not None
    with zipfile.ZipFile(bundle) as archive:
        assert json.loads(archive.read(ABOUT))["study"] == about.study == "tiny"


def test_a_trial_that_could_not_run_here_is_no_difference(tmp_path: Path) -> None:
    again = (Again(trial(), (), unable="no guest boots"), Again(trial(), ()))
    with pytest.raises(MachineError, match="1 of 2 trials could not run here: no guest boots"):
        fail_unless_same(Verified(tmp_path, None, "s", 2, 2, 7, again=again))
    with pytest.raises(LonglookError, match="1 of 3 trials differ") as caught:
        fail_unless_same(Verified(tmp_path, None, "s", 3, 3, 7, again=(*again, Again(trial(), ("link.bin",)))))
    assert caught.value.exit_code == 1


def test_a_trial_whose_setup_alone_took_longer_passes_and_is_said(tmp_path: Path) -> None:
    found = Verified(tmp_path, None, "s", 2, 2, 7, again=(Again(trial(), (), setup_ns=7424), Again(trial(), ())))
    fail_unless_same(found)
    said = " ".join(str(each) for each in verified_shown(found).people())
    assert "same bytes: 1 of 2 trials" in said
    assert "same packets and lines: 1 more" in said
    assert "+7,424 ns" in said


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("manifest.json", lambda data: {**data, "engine": None}, "manifest.json of .* is damaged"),
        ("manifest.json", lambda data: {**data, "programs": []}, "manifest.json of .* is damaged"),
        ("plan.json", lambda data: {**data, "trials": [{**data["trials"][0], "id": "../out"}]}, r"a trial '\.\./out'"),
    ],
)
def test_a_manifest_or_a_plan_of_another_form_is_refused(
    run: Path, name: str, change: Callable[[Any], Any], reason: str
) -> None:
    (run / name).write_text(json.dumps(change(json.loads((run / name).read_text()))))
    (run / "seals.jsonl").unlink()
    with pytest.raises(InputError, match=reason):
        checked(run)


def test_trials_run_again_in_guests_whatever_the_manifest_says(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "engine": "live"}))
    for record in run.glob("trials/*/run.json"):
        ran = json.loads(record.read_text())
        record.write_text(json.dumps({**ran, "engine": "live", "exact": True}))
    (run / "seals.jsonl").unlink()
    found = checked(run)
    assert (found.exact, found.again) == (0, ())
