"""A chart of a run: an Altair chart in the report's look, shown as a picture that needs no network."""

import os
from pathlib import Path
from typing import Any

from longlook.api import html
from longlook.core import InputError

_FITTING = '<svg style="max-width:100%;height:auto" '
"""The begin of a picture that becomes smaller on a narrow page; it keeps its proportions by its viewBox."""


class Figure:
    """A chart, which notebooks show as SVG: it looks the same in Jupyter, marimo, an exported page and on paper."""

    def __init__(self, chart: Any, about: str) -> None:
        """Take an Altair chart, and what it shows in a phrase."""
        self._chart = chart
        self._about = about

    @property
    def chart(self) -> Any:
        """The Altair chart, for whoever wants to change it."""
        return self._chart

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart as `.svg`, `.png` or `.pdf`, by the ending of the path, and return the path.

        The same chart gives the same bytes on every machine. InputError for another ending, or if the file cannot be
        written.
        """
        from longlook.report import ENDINGS, picture

        file = Path(path)
        ending = file.suffix.removeprefix(".").lower()
        if ending not in ENDINGS:
            raise InputError(f"{file}: no picture has this ending", f"end it in {', '.join(f'.{e}' for e in ENDINGS)}")
        try:
            file.write_bytes(picture(self._chart, ending))
        except OSError as error:
            raise InputError(
                f"{file} cannot be written: {error.strerror}", "name a file in a folder that is there"
            ) from (error)
        return file

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from longlook.report import picture

        svg = picture(self._chart, "svg").decode().replace("<svg ", _FITTING, 1)
        # nbconvert makes an image of an SVG, which stays as wide as it is and has no description.
        page = f'<div role="img" aria-label="{html.text(self._about)}">{svg}</div>'
        return {"text/html": page, "image/svg+xml": svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<Figure: {self._about}>"
