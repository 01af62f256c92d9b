"""The software bill of materials of a run: it holds what was recorded, and is CycloneDX by its official schema."""

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from longlook.core.errors import InputError
from longlook.core.model import Plan, Study
from longlook.core.provenance import Component, Made
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline import provide
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.pipeline.sbom import COMPONENTS, SPEC_VERSION, bill_of_materials, keep_components
from longlook.provision.provenance.videos import of_encoder
from longlook.study.files import find_study
from tests.conftest import TINY

CRATE = Component("cargo", "quinn-proto", "0.11.13", (f"sha256:{'a' * 64}",), "Cargo.lock in the repository")
MODULE = Component("golang", "github.com/BurntSushi/toml", "v1.4.0+incompatible", ("h1:sum=",), "go.sum")
WHEEL = Component("pypi", "numpy", "2.4.6", (f"sha256:{'b' * 64}", f"sha256:{'c' * 64}"), "requirements.lock")
PACKAGE = Component("deb", "libgmp10", "2:6.2.1+dfsg1-1.1", (f"sha256:{'d' * 64}",), "Debian's signed Release")
SCRIPT = Component("npm", "dashjs", "5.2.1", (f"sha512:{'e' * 128}",), "players.py", "BSD-3-Clause")
MADE = (
    Made("quinn@0.11.12", "0.11.12", "1" * 64, "rustc 1.95.0", (CRATE,)),
    Made("quic-go@0.65.0", "0.65.0", "2" * 64, "go1.26.8", (MODULE,)),
    Made("nginx@1.22.1", "1.22.1", "3" * 64, "", (PACKAGE,), ("libgmp10 is newer than the pin",)),
    Made("own@1", "1", "4" * 64, "", None),
    Made("kernel", "7.2.13-tt", "5" * 64, "gcc 12", (PACKAGE,)),
    Made("dashjs@5.2.1", "5.2.1", "6" * 64, "", (SCRIPT,), licence="BSD-3-Clause"),
    of_encoder(),
    Made("longlook", "0.1.0", None, "CPython 3.11", (WHEEL,)),
)


@pytest.fixture
def folder(tmp_path: Path, tiny_study: Study) -> RunFolder:
    manifest = {"study": "demo", "plan_hash": "0123456789abcdef", "started_unix_s": 1_700_000_000}
    return RunFolder.create(tmp_path / "run", tiny_study, Plan("tiny", "0123456789abcdef", ()), manifest)


@pytest.mark.parametrize("name", ["plan.json", "study.json"])
def test_a_run_whose_plan_or_study_is_damaged_has_no_bill(folder: RunFolder, name: str) -> None:
    keep_components(folder, MADE)
    (folder.path / name).unlink()
    with pytest.raises(InputError, match=rf"{name} is missing"):
        bill_of_materials(RunFolder.open(folder.path))


def test_it_is_valid_by_the_official_schema(folder: RunFolder) -> None:
    keep_components(folder, MADE)
    text = json.dumps(bill_of_materials(folder))
    assert JsonStrictValidator(SchemaVersion.from_version(SPEC_VERSION)).validate_str(text) is None
    assert max(SchemaVersion).to_version() == SPEC_VERSION, "there is a newer version of the specification"


def test_it_holds_every_program_and_library_once_and_who_uses_what(folder: RunFolder) -> None:
    keep_components(folder, MADE)
    bill = bill_of_materials(folder)
    names = [each["bom-ref"] for each in bill["components"]]
    assert len(names) == len(set(names)) == len(MADE) + 7
    purls = {each["name"]: each.get("purl") for each in bill["components"]}
    assert purls["quinn-proto"] == "pkg:cargo/quinn-proto@0.11.13"
    assert purls["github.com/BurntSushi/toml"] == "pkg:golang/github.com/burntsushi/toml@v1.4.0%2Bincompatible"
    assert purls["libgmp10"] == "pkg:deb/debian/libgmp10@2%3A6.2.1%2Bdfsg1-1.1"
    uses = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert uses["quinn@0.11.12 1111111111111111"] == ["pkg:cargo/quinn-proto@0.11.13"]
    assert len(uses["run"]) == len(MADE)
    assert bill["compositions"] == [{"aggregate": "unknown", "dependencies": ["own@1 4444444444444444"]}]


def test_digests_and_deviations_are_in_it(folder: RunFolder) -> None:
    keep_components(folder, MADE)
    found = {each["name"]: each for each in bill_of_materials(folder)["components"]}
    assert found["quinn-proto"]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert found["dashjs"]["hashes"] == [{"alg": "SHA-512", "content": "e" * 128}]
    assert "hashes" not in found["numpy"]  # which of the allowed files was taken is not known
    properties = {name: [(each["name"], each["value"]) for each in found[name].get("properties", ())] for name in found}
    assert ("longlook:digest", "h1:sum=") in properties["github.com/BurntSushi/toml"]
    assert ("longlook:not-as-pinned", "libgmp10 is newer than the pin") in properties["nginx@1.22.1"]
    assert found["kernel"]["type"] == "operating-system"


def test_licences_are_in_it_where_they_are_recorded(folder: RunFolder) -> None:
    keep_components(folder, MADE)
    found = {each["name"]: each for each in bill_of_materials(folder)["components"]}
    licences = {name: each["licenses"][0]["license"]["id"] for name, each in found.items() if "licenses" in each}
    assert licences == {
        "dashjs": "BSD-3-Clause",
        "dashjs@5.2.1": "BSD-3-Clause",
        "ffmpeg@7.0.2": "GPL-3.0-or-later",
        "imageio-ffmpeg": "BSD-2-Clause",
        "x264": "GPL-2.0-or-later",
    }


def test_same_record_gives_the_same_text(folder: RunFolder) -> None:
    keep_components(folder, MADE)
    assert bill_of_materials(folder) == bill_of_materials(folder)


def test_resumed_run_adds_programs_of_other_digests(folder: RunFolder) -> None:
    keep_components(folder, MADE[:1])
    keep_components(folder, MADE[:1])
    other = Made("quinn@0.11.12", "0.11.12", "9" * 64, "rustc 1.96.0", (CRATE,))
    keep_components(folder, [other])
    references = [each["bom-ref"] for each in bill_of_materials(folder)["components"]]
    assert references[:2] == ["quinn@0.11.12 1111111111111111", "quinn@0.11.12 9999999999999999"]


def test_run_of_an_earlier_longlook_has_none(folder: RunFolder) -> None:
    with pytest.raises(InputError, match="does not say what its programs are made of"):
        bill_of_materials(folder)


@pytest.mark.parametrize("text", ["{", '[{"name": 1}]', "[1]", "1", '{"name": []}'])
def test_damaged_record_is_named(folder: RunFolder, text: str) -> None:
    (folder.path / COMPONENTS).write_text(text)
    with pytest.raises(InputError, match=r"components\.json is damaged"):
        bill_of_materials(folder)


def test_run_with_a_program_that_is_not_as_pinned_says_and_notes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "the guest kernel is made of another source"
    monkeypatch.setattr(provide, "_made", lambda *_args, **_kwargs: [Made("kernel", "7", "5" * 64, "", (), (other,))])
    study = find_study(str(TINY), rounds=1)
    said: list[str] = []
    for resume in (False, True):
        run_study(study, tmp_path / "run", RunOptions(FakeEngine(), resume=resume), Observer(say=said.append))
    assert said.count(f"WARNING: not as pinned: {other}") == 2
    folder = RunFolder.open(tmp_path / "run")
    assert folder.manifest["not_as_pinned"] == [other]
    assert "Not as pinned: the guest kernel" in (tmp_path / "run" / "report" / "index.html").read_text()
    names = [each["name"] for each in bill_of_materials(folder)["components"]]
    assert names[:3] == ["kernel", "longlook-link", "longlook"]
