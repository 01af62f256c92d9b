"""A new stack begins as a copy of a shipped adapter that works."""

from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.provision.skeleton import MODELS, write_skeleton


@pytest.mark.parametrize("like", MODELS)
def test_a_skeleton_is_found_and_is_what_its_model_is(
    like: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_skeleton("my-own", like, tmp_path / "my-own")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "adapter", "stacks", "tests"]
    compile((folder / "tests" / "test_my_own.py").read_text(), "test", "exec")
    model = registry.stack(MODELS[like])
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(folder))
    registry.forget()
    try:
        made = registry.stack("my-own")
        assert made.version_names == (model.default_version,)
        assert made.protocols == model.protocols_of(model.default_version)
        assert registry.source("stacks", "my-own") == folder / "stacks" / "my_own.py"
    finally:
        monkeypatch.delenv("LONGLOOK_PLUGINS")
        registry.forget()


def test_a_copy_has_the_files_of_one_version_and_no_tests(tmp_path: Path) -> None:
    python = write_skeleton("mine", "python", tmp_path / "python") / "adapter"
    assert [path.stem for path in (python / "locks").iterdir()] == [registry.stack("aioquic").default_version]
    go = write_skeleton("mine", "go", tmp_path / "go") / "adapter"
    assert not [path for path in go.rglob("*") if path.is_dir() or path.name.endswith("_test.go")]
    assert (go / "go.sum").is_file()


@pytest.mark.parametrize(
    ("name", "like", "message"),
    [
        ("mine", "container", "container image is no stack to be written"),
        ("mine", "java", "no such model"),
        ("My Own", "go", "cannot be a stack's name"),
        ("quinn", "go", "there is a stack quinn already"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(name: str, like: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        write_skeleton(name, like, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        write_skeleton("mine", "go", tmp_path)
