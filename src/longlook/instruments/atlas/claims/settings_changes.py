"""In which settings two studies, or two arms, differ. Pure."""

from collections.abc import Mapping
from typing import Any

from longlook.core import codec
from longlook.core.model import Study


def changes(ran: Study, installed: Study) -> tuple[str, ...]:
    """Return the settings in which a study departs from another: `network.rtt = 112ms instead of 36ms`."""
    arms = {arm.name: arm.settings for arm in installed.arms}
    found = changed_settings("", ran.settings, installed.settings)
    for arm in ran.arms:
        if arm.name in arms:
            found += changed_settings(f"arms.{arm.name}.", arm.settings, arms[arm.name])
    return (*found, *changed_settings("analysis.", codec.encode(ran.analysis), codec.encode(installed.analysis)))


def changed_settings(prefix: str, ran: Mapping[str, Any], installed: Mapping[str, Any]) -> list[str]:
    """Return the settings of `ran` that differ from those of `installed`, each with its name behind `prefix`."""
    names = dict.fromkeys([*ran, *installed])
    return [
        f"{prefix}{name} = {ran.get(name, 'its default')} instead of {installed.get(name, 'its default')}"
        for name in names
        if ran.get(name) != installed.get(name)
    ]
