"""The section of downloads: every figure and table that was written beside the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from longlook.report.section import Section


@dataclass(frozen=True)
class DownloadSection(Section):
    """The files of the other sections, as paths relative to the page."""

    template: ClassVar[str] = "provenance/downloads.html.j2"

    files: Sequence[Path]

    def context(self) -> Mapping[str, Any]:
        """Return the figures and the tables, each sorted by name."""
        return {
            "section": self,
            "figures": [path for path in self.files if path.parent.name == "figures"],
            "tables": sorted(path for path in self.files if path.parent.name == "tables"),
        }
