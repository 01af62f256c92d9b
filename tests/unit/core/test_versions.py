"""The names of versions: a release, or a build of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import versions

NAMES = st.from_regex(r"[0-9]+\.[0-9]+(\.[0-9]+)?(\+(knobs|[0-9]{2}-[0-9a-f]{7}|rare-acks))?", fullmatch=True)


@pytest.mark.parametrize(
    ("version", "release", "build"),
    [
        ("0.65.0", "0.65.0", ""),
        ("0.65.0+knobs", "0.65.0", "knobs"),
        ("0.65.0+00-4b653fe", "0.65.0", "00-4b653fe"),
        ("0.65.0+4b653fe+knobs", "0.65.0", "4b653fe+knobs"),
    ],
)
def test_a_version_is_a_release_or_a_build_of_one(version: str, release: str, build: str) -> None:
    assert (versions.release_name(version), versions.build_name(version)) == (release, build)
    assert versions.is_build(version) is bool(build)


@given(NAMES)
def test_a_tunable_build_is_named_after_its_version(version: str) -> None:
    plain, tunable = versions.untuned_name(version), versions.tunable_name(version)
    assert versions.is_tunable(tunable) and not versions.is_tunable(plain)
    assert versions.untuned_name(tunable) == plain
    assert versions.release_name(tunable) == versions.release_name(plain)
