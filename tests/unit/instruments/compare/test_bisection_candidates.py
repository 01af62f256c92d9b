"""The versions that a bisection searches: releases and builds are told apart, and nothing goes without a word."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import SourceTree, codec, registry, tree_folder, write_json
from longlook.core.errors import InputError
from longlook.core.source_tree import SOURCE_RECORD
from longlook.core.versions import build_name, is_build
from longlook.instruments.compare.bisection import candidates
from longlook.instruments.compare.run_bisection import _between
from longlook.study import ComparedSide

TREE = ("0.65.0+00-4b653fe", "0.65.0+01-98afe1", "0.65.0+02-3959a97", "0.65.0+03-9a0a390")
RELEASES = ("0.63.0", "0.64.1+knobs", "0.64.1", "0.65.0+knobs", "0.65.0")


def test_the_commits_of_a_tree_are_all_searched() -> None:
    found = candidates(TREE, TREE[0], TREE[-1])
    assert (found.versions, found.left_out) == (TREE, ())


def test_between_releases_builds_are_left_out_and_named() -> None:
    found = candidates(RELEASES, "0.63.0", "0.65.0")
    assert found.versions == ("0.63.0", "0.64.1", "0.65.0")
    assert found.left_out == ("0.64.1+knobs", "0.65.0+knobs")
    assert found.left_out_between(RELEASES, "0.64.1", "0.65.0") == ("0.65.0+knobs",)


def test_between_builds_of_one_name_only_these_are_searched() -> None:
    known = ("0.63.0+knobs", *RELEASES)
    found = candidates(known, "0.63.0+knobs", "0.65.0+knobs")
    assert found.versions == ("0.63.0+knobs", "0.64.1+knobs", "0.65.0+knobs")
    assert found.left_out == ("0.63.0", "0.64.1")


def test_between_a_release_and_a_build_the_builds_of_its_release_are_searched_too() -> None:
    known = (*RELEASES, "0.65.0+00-4b653fe", "0.65.0+01-98afe1")
    found = candidates(known, "0.63.0", "0.65.0+01-98afe1")
    assert found.versions == ("0.63.0", "0.64.1", "0.65.0+knobs", "0.65.0", "0.65.0+00-4b653fe", "0.65.0+01-98afe1")
    assert found.left_out == ("0.64.1+knobs",)


def test_the_older_end_comes_first() -> None:
    with pytest.raises(InputError, match=r"0\.65\.0 is not older than 0\.63\.0"):
        candidates(RELEASES, "0.65.0", "0.63.0")


@given(
    st.lists(
        st.tuples(st.sampled_from(["1.0", "1.1", "2.0"]), st.sampled_from(["", "+a", "+b", "+c-1f"])).map("".join),
        min_size=2,
        max_size=12,
        unique=True,
    ),
    st.data(),
)
def test_every_version_between_is_searched_or_named_and_the_kind_of_an_end_never_left_out(
    known: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(known) - 2))
    last = data.draw(st.integers(first + 1, len(known) - 1))
    found = candidates(known, known[first], known[last])
    assert sorted((*found.versions, *found.left_out), key=known.index) == known[first : last + 1]
    assert (found.versions[0], found.versions[-1]) == (known[first], known[last])
    kinds = {build_name(name) for name in (known[first], known[last])}
    if len(kinds) == 1:
        assert all(build_name(name) not in kinds for name in found.left_out)
    elif "" not in kinds:
        assert not any(map(is_build, found.left_out))


def test_releases_that_no_list_has_are_ends_and_other_sources_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    for version in ("0.61.0~recipe-0.60.0", "0.64.0~recipe-0.63.0", "main-1234567"):
        tree = SourceTree("quic-go", version, "0.63.0", "", "")
        tree_folder("quic-go", version).mkdir(parents=True)
        write_json(tree_folder("quic-go", version) / SOURCE_RECORD, codec.encode(tree))
    stack = registry.stack("quic-go")
    old, new, tree_side, known = (
        ComparedSide("quic-go", version, "h3")
        for version in ("0.61.0~recipe-0.60.0", "0.64.0~recipe-0.63.0", "main-1234567", "0.65.0")
    )
    assert _between(stack, old, new).versions == (old.version, "0.62.0", "0.63.0", new.version)
    assert _between(stack, new, known).versions == (new.version, "0.64.1", "0.65.0")
    with pytest.raises(InputError, match="main-1234567 has no place among the releases of quic-go"):
        _between(stack, tree_side, known)
