"""The section on the manifest: what was run, where, with which programs, and the command that runs it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.section import Section


@dataclass(frozen=True)
class ManifestSection(Section):
    """The manifest of the run."""

    template: ClassVar[str] = "provenance/manifest.html.j2"

    content: ReportContent

    def context(self) -> Mapping[str, Any]:
        """Return the command, the facts and the programs of the manifest."""
        manifest = self.content.manifest
        return {
            "section": self,
            "command": str(manifest.get("command") or f"longlook run {self.content.study.id}"),
            "facts": manifest_facts(manifest),
            "not_as_pinned": manifest.get("not_as_pinned", ()),
            "programs": programs(manifest),
        }


def manifest_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every plain value of the manifest; nested keys are joined by a dot; without what is shown apart."""
    facts = []
    for key, value in manifest.items():
        if key in ("programs", "command", "releases", "not_as_pinned"):
            continue
        facts.extend(_flat(key, value))
    return facts


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [fact for name, item in value.items() for fact in _flat(f"{key}.{name}", item)]
    if key == "sources":
        return [(f"{each['stack']}@{each['version']}", _origin(each)) for each in value]
    if isinstance(value, list | tuple):
        return [(_term(key), ", ".join(map(str, value)))]
    if key.endswith("_unix_s") and isinstance(value, int | float):
        moment = datetime.fromtimestamp(value, UTC)
        return [(_term(key.removesuffix("_unix_s")), f"{moment:%Y-%m-%d %H:%M:%S} UTC")]
    if key.endswith("_kib") and isinstance(value, int | float):
        return [(_term(key.removesuffix("_kib")), f"{value / 1024**2:.1f}{wording.NBSP}GiB")]
    return [(_term(key), wording.DASH if value is None else str(value))]


def _origin(source: Mapping[str, Any]) -> str:
    commit = f", commit {source['commit']}" if source["commit"] else ""
    return f"{source['origin']}{commit}, digest {source['digest']}; built by the recipe of {source['of']}"


def _term(key: str) -> str:
    return key.removeprefix("host.").replace("_", " ")


def programs(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the programs of a manifest with their digests."""
    found = manifest.get("programs")
    return [(str(name), str(digest)) for name, digest in found.items()] if isinstance(found, Mapping) else []
