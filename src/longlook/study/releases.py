"""The dates on which the programs of arms were released: the horizontal axis of a trend."""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import TREND, Arm, Problems, SettingError, Study
from longlook.study.catalogue import Catalogue
from longlook.study.resolve import find_stack

_ROLES = ("server", "client")


@dataclass(frozen=True)
class Release:
    """The program in which an arm differs from the others, as name@version, and the ISO date of its publication."""

    program: str
    released: str


def releases_of(study: Study, catalogue: Catalogue) -> dict[str, Release]:
    """Return the release of each arm, if the study's figure is a trend; SettingError if an arm has no date."""
    if study.figure.kind != TREND:
        return {}
    return {arm.name: _release(study, arm, catalogue) for arm in study.arms}


def check_releases(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    """Add to `problems` what prevents the figure from being a trend."""
    if study.figure.kind != TREND:
        return
    for factor in study.factors:
        if any(role in level.sets for level in factor.levels for role in _ROLES):
            problems.add("figure.kind", f"is a trend over arms, but factor {factor.name} sets server or client")
            return
    for arm in study.arms:
        try:
            _release(study, arm, catalogue)
        except SettingError as error:
            problems.add(f"arms.{arm.name}.{error.key}", error.message)


def _release(study: Study, arm: Arm, catalogue: Catalogue) -> Release:
    role = next((role for role in _ROLES if len({_end(study, each, role) for each in study.arms}) > 1), "server")
    stack, version = find_stack(role, _end(study, arm, role), catalogue)
    released = stack.version(version).released
    if not released:
        raise SettingError(role, f"{stack.name}@{version} has no date of release, which a trend needs")
    return Release(f"{stack.name}@{version}", released)


def _end(study: Study, arm: Arm, role: str) -> str:
    settings: Mapping[str, object] = {**study.settings, **arm.settings}
    return str(settings.get(role, ""))
