"""What a bundle has, and what it does not."""

import json
import zipfile
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from longlook.core import InputError, RunFolder, codec
from longlook.core.model import Study
from longlook.instruments.bundle.crate import parse_person
from longlook.instruments.bundle.layout import SUMS
from longlook.instruments.bundle.make import BundleOptions, make_bundle
from longlook.instruments.bundle.portable import without_paths


def names_in(bundle: Path) -> set[str]:
    with zipfile.ZipFile(bundle) as archive:
        return set(archive.namelist())


def test_a_bundle_has_records_tables_and_the_report_but_no_raw_files(bundle: Path, whole_bundle: Path) -> None:
    names = names_in(bundle)
    assert {"study.json", "plan.json", "manifest.json", "seals.jsonl", "components.json", "README.md", SUMS} <= names
    assert {"samples.parquet", "estimates.parquet", "claims.json", "report/index.html"} <= names
    raw = {name for name in names if name.startswith("trials/")}
    assert len(raw) == 12 and all(name.endswith("/run.json") for name in raw)
    more = names_in(whole_bundle) - names
    assert more and all(name.startswith("trials/") for name in more)
    assert not any("timeline.parquet" in name or "/." in name for name in names | more)


def test_the_same_run_gives_the_same_bytes(finished: Path, bundle: Path, tmp_path: Path) -> None:
    from tests.unit.instruments.bundle.conftest import AUTHORS

    options = BundleOptions(authors=AUTHORS, licence="CC-BY-4.0")
    made = make_bundle(finished, tmp_path / "other-name.zip", options, overwrite=False)
    assert (tmp_path / "other-name.zip").read_bytes() == bundle.read_bytes()
    assert made.about.without_paths == ("manifest.json", "report/index.html")


def test_no_path_of_this_machine_is_in_it(finished: Path, bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            assert str(finished).encode() not in data, name
            assert b"/home/ada" not in data, name
        command = json.loads(archive.read("manifest.json"))["command"]
    assert command == "longlook run tiny.toml --out=run"


def test_an_unpacked_bundle_is_a_run_folder(bundle: Path, tmp_path: Path, tiny_study: Study) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    folder = RunFolder.open(tmp_path)
    assert codec.encode(folder.study) == codec.encode(tiny_study)
    assert len(folder.plan.trials) == 12
    assert folder.broken("study.json") is None


def test_its_crate_is_read_by_others(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    crate = ROCrate(tmp_path)
    assert crate.name == "Tiny"
    assert crate.mainEntity.id == "study.json"
    listed = {entity.id for entity in crate.data_entities}
    assert listed == names_in(bundle) - {SUMS, "ro-crate-metadata.json"}
    (action,) = crate.get_by_type("CreateAction")
    assert action["instrument"]["name"] == "Longlook"
    assert [author["name"] for author in crate.root_dataset["author"]] == ["Ada Lovelace", "Grace Hopper"]
    assert crate.root_dataset["license"].id == "https://spdx.org/licenses/CC-BY-4.0"
    samples = crate.dereference("samples.parquet")
    assert samples["contentSize"] == str((tmp_path / "samples.parquet").stat().st_size)
    assert len(samples["sha256"]) == 64


def test_a_run_that_is_not_as_it_was_sealed_is_refused(run: Path, tmp_path: Path) -> None:
    record = next(run.glob("trials/*/run.json"))
    record.write_text(record.read_text() + " ")
    with pytest.raises(InputError, match="1 trial is not as sealed"):
        make_bundle(run, tmp_path / "b.zip", BundleOptions(), overwrite=False)


def test_a_changed_table_is_refused(run: Path, tmp_path: Path) -> None:
    (run / "claims.json").write_text("[ ]")
    with pytest.raises(InputError, match=r"claims\.json was changed"):
        make_bundle(run, tmp_path / "b.zip", BundleOptions(), overwrite=False)
    (run / "samples.parquet").unlink()
    with pytest.raises(InputError, match="has no results"):
        make_bundle(run, tmp_path / "b.zip", BundleOptions(), overwrite=False)
    assert not (tmp_path / "b.zip").exists()


def test_a_file_that_is_there_stays_unless_it_may_be_overwritten(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.zip"
    out.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        make_bundle(run, out, BundleOptions(), overwrite=False)
    assert out.read_text() == "mine"
    make_bundle(run, out, BundleOptions(), overwrite=True)
    assert zipfile.is_zipfile(out)
    for place in (tmp_path, tmp_path / "none" / "b.zip"):
        with pytest.raises(InputError, match="no such folder"):
            make_bundle(run, place, BundleOptions(), overwrite=True)


def test_authors_are_names_with_an_address() -> None:
    for text, name, address in (
        ("Ada Lovelace <https://orcid.org/1>", "Ada Lovelace", "https://orcid.org/1"),
        (" Grace Hopper ", "Grace Hopper", ""),
        ("A <b", "A <b", ""),
        ("", "", ""),
    ):
        assert (parse_person(text).name, parse_person(text).address) == (name, address)


def test_paths_are_cut_in_every_spelling() -> None:
    path = '/tmp/a "b" & c/run'
    texts = (path, json.dumps(path), "/tmp/a &quot;b&quot; &amp; c/run", "'/tmp/a \"b\" & c/run'")
    for text in texts:
        assert b"/tmp" not in without_paths(text.encode(), {path: "run"})


def test_a_path_is_cut_where_it_stands_alone_and_nowhere_else() -> None:
    paths = {"/p": "p", "/data": "data"}
    kept = b'<p>one</p> a/p pin/data/patches x+/data /pictures /p.txt "</p>"'
    assert without_paths(kept, paths) == kept
    assert without_paths(b'"/p" =/p/x file:///data/y (/data)', paths) == b'"p" =p/x file://data/y (data)'
